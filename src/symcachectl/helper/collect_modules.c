/*
 * Copyright (C) the ngx_symcache authors
 */

#include "collect_modules.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symcachectl/command.h"
#include "module_list.h"
#include "symcachectl/files/module_file.h"
#include "symcachectl/terminal/printable.h"

#define COMPLAINTS_MAX 20 /* further ones are only counted */
#define SHOWN 60          /* bytes of a line that is not a module */

static void complain_of_line(struct collect_modules *modules, const char *file,
                             unsigned line, const char *reason,
                             const char *text, size_t size)
{
    char *shown;

    if (modules->bad++ >= COMPLAINTS_MAX) {
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

static int from_list(struct collect_modules *modules, const char *name,
                     FILE *stream)
{
    struct identity identity;
    enum list_found found;
    const char *wrong = NULL;
    static struct list list;

    list_init(&list, stream);
    while ((found = list_next(&list, &identity, &wrong)) != LIST_END) {
        if (found == LIST_MODULE) {
            warm_modules_add(modules->modules, &identity);
        } else if (found == LIST_BAD) {
            complain_of_line(modules, name, list.line, wrong, list.text,
                             list.size);
        }
    }
    return ferror(stream) ? command_fail(COMMAND_IO, name, strerror(errno))
                          : COMMAND_OK;
}

/* Adds the module of a file.  Returns false if it is of no format that has
 * one. */
static bool collect_from_file(struct collect_modules *modules,
                              const char *path, int fd)
{
    struct identity identity;
    char error[MODULE_FILE_ERROR];

    enum module_file found = module_file_read(path, fd, &identity, error);

    if (found == MODULE_FILE_PORTABLE && modules->portable) {
        found = MODULE_FILE_FOUND;
    }
    switch (found) {
    case MODULE_FILE_FOUND:
        warm_modules_add(modules->modules, &identity);
        return true;
    case MODULE_FILE_WRONG:
    case MODULE_FILE_PORTABLE:
        complain_of_line(modules, path, 0, error, NULL, 0);
        return true;
    default:
        return false;
    }
}

/* Adds the modules of a folder; files that belong to none are ignored. */
static int from_folder(struct collect_modules *modules, const char *folder)
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
        (void)collect_from_file(modules, entry->fts_path, fd);
        close(fd);
    }
    fts_close(fts);
    return rc;
}

int collect_modules(struct collect_modules *gather, const char *operand)
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
               !collect_from_file(gather, operand, fileno(stream))) {
        rc = from_list(gather, operand, stream);
    }
    fclose(stream);
    return rc;
}
