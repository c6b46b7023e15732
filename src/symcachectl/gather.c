/*
 * Copyright (C) the ngx_symcache authors
 */

#include "gather.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "examine.h"
#include "list.h"
#include "printable.h"

#define COMPLAINTS_MAX 20 /* further ones are only counted */
#define SHOWN 60          /* bytes of a line that is not a module */

static void complain(struct gather *g, const char *file, unsigned line,
                     const char *reason, const char *text, size_t size)
{
    char *shown;

    if (g->bad++ >= COMPLAINTS_MAX) {
        return;
    }
    fputs("symcachectl warm: ", stderr);
    printable_put(stderr, file);
    if (line > 0) {
        fprintf(stderr, ":%u", line);
    }
    fprintf(stderr, ": ");
    printable_put(stderr, reason);
    if (size > 0) {
        shown = printable(text, size < SHOWN ? size : SHOWN);
        fprintf(stderr, ": %s%s", shown, size < SHOWN ? "" : "...");
        free(shown);
    }
    fputs("; left out\n", stderr);
}

static int from_list(struct gather *g, const char *name, FILE *stream)
{
    struct identity identity;
    enum list_found found;
    const char *wrong = NULL;
    static struct list list;

    list_init(&list, stream);
    while ((found = list_next(&list, &identity, &wrong)) != LIST_END) {
        if (found == LIST_MODULE) {
            modules_add(g->modules, &identity);
        } else if (found == LIST_BAD) {
            complain(g, name, list.line, wrong, list.text, list.size);
        }
    }
    return ferror(stream) ? command_fail(COMMAND_IO, name, strerror(errno))
                          : COMMAND_OK;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

/* Adds the module of an image or a PDB. */
static void from_binary(struct gather *g, const char *path, int fd)
{
    struct examine_result result;
    struct identity identity;
    const char *wrong;

    if (examine_file(fd, &result) != 0) {
        wrong = result.error;
    } else if (result.kind == EXAMINE_PDB) {
        wrong = identity_set(&identity, base_name(path),
                             strlen(base_name(path)), result.guid, result.age);
    } else {
        wrong = identity_set(&identity, result.name, result.name_size,
                             result.guid, result.age);
    }
    if (wrong != NULL) {
        complain(g, path, 0, wrong, NULL, 0);
    } else {
        modules_add(g->modules, &identity);
    }
}

/* Is it an ELF or Mach-O file, to the first bytes? */
static bool is_module(int fd)
{
    static const char magics[][5] = {"\177ELF", "\xfe\xed\xfa\xce",
                                     "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe",
                                     "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"};
    char head[4];
    size_t i;

    if (pread(fd, head, sizeof(head), 0) != sizeof(head)) {
        return false;
    }
    for (i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (memcmp(head, magics[i], sizeof(head)) == 0) {
            return true;
        }
    }
    return false;
}

/* The length of a module's name without what debug files have behind it. */
static size_t module_name(const char *name)
{
    static const char *const ends[] = {".debug", ".dbg", ".dwarf"};
    size_t i, n, size = strlen(name);

    for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        n = strlen(ends[i]);
        if (size > n && strcmp(name + size - n, ends[i]) == 0) {
            return size - n;
        }
    }
    return size;
}

/* Adds a module that has no PDB, by the debug id that is made of its own. */
static void from_module(struct gather *g, const char *path, int fd)
{
    const char *name = base_name(path), *wrong = "has no debug id";
    struct identity identity;
    struct debug_place place;
    char error[400];
    size_t i;

    if (examine_place(fd, name, &place, error, sizeof(error)) != 0) {
        complain(g, path, 0, error, NULL, 0);
        return;
    }
    for (i = 0; i < place.nids; i++) {
        if (place.ids[i].id_type == SYMCACHE_ID_DEBUG) {
            wrong = identity_set(&identity, name, module_name(name),
                                 place.ids[i].guid, 0);
        }
    }
    for (i = 0; wrong == NULL && i < place.nids; i++) {
        if (place.ids[i].id_type == SYMCACHE_ID_BUILD) {
            symcache_id_print(identity.code_id, &place.ids[i]);
        }
    }
    if (wrong != NULL) {
        complain(g, path, 0, wrong, NULL, 0);
    } else {
        modules_add(g->modules, &identity);
    }
}

/* Adds the module of a file.  Returns false if it is of no format that has
 * one. */
static bool from_file(struct gather *g, const char *path, int fd)
{
    enum examine_kind kind = examine_sniff(fd);

    if (kind == EXAMINE_IMAGE || kind == EXAMINE_PDB) {
        from_binary(g, path, fd);
        return true;
    }
    if (is_module(fd)) {
        from_module(g, path, fd);
        return true;
    }
    return false;
}

/* Adds the modules of a folder; files that belong to none are ignored. */
static int from_folder(struct gather *g, const char *folder)
{
    char *paths[2] = {(char *)folder, NULL};
    int fd, rc = COMMAND_OK;
    FTSENT *entry;
    FTS *fts;

    fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (fts == NULL) {
        return command_fail(COMMAND_IO, folder, strerror(errno));
    }
    while ((entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) {
            rc = command_fail(COMMAND_IO, entry->fts_path,
                              strerror(entry->fts_errno));
        }
        if (entry->fts_info != FTS_F) {
            continue;
        }
        fd = open(entry->fts_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) {
            rc = command_fail(COMMAND_IO, entry->fts_path, strerror(errno));
            continue;
        }
        (void)from_file(g, entry->fts_path, fd);
        close(fd);
    }
    fts_close(fts);
    return rc;
}

int gather_from(struct gather *gather, const char *operand)
{
    struct stat st;
    FILE *stream;
    int rc;

    if (strcmp(operand, "-") == 0) {
        return from_list(gather, "standard input", stdin);
    }
    stream = fopen(operand, "re");
    if (stream == NULL || fstat(fileno(stream), &st) != 0) {
        return command_fail(COMMAND_IO, operand, strerror(errno));
    }
    rc = COMMAND_OK;
    if (S_ISDIR(st.st_mode)) {
        rc = from_folder(gather, operand);
    } else if (!S_ISREG(st.st_mode) ||
               !from_file(gather, operand, fileno(stream))) {
        rc = from_list(gather, operand, stream);
    }
    fclose(stream);
    return rc;
}
