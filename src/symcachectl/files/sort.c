/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl sort: lays the debug files and programs of a build down in a
 * folder of Symbolicator's layout "unified".  Files are taken in byte order of
 * their paths, and the result does not depend on anything but their content.
 */
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd_close.h"
#include "bundle_sources.h"
#include "container.h"
#include "examine.h"
#include "symcachectl/command.h"
#include "symcachectl/options.h"
#include "symcachectl/terminal/bar.h"
#include "symcachectl/terminal/printable.h"
#include "unified_tree.h"

#define NAME "sort"
#define QUIET_MS 1000 /* shorter runs show no progress line */

struct sort {
    struct unified_tree *tree;
    char folder[32]; /* for bundles of sources, or "" */
    struct bar bar;
    uint64_t began;
    const char *file; /* that is taken now */
    bool is_inside;   /* a part of an archive */
    struct stat output;
    size_t looked, written, bundles, doubles, splits, refused, unread;
    int rc; /* of what ends it */
};

static void refuse_file(struct sort *sort, const char *file, const char *part,
                        const char *reason)
{
    bar_clear(&sort->bar);
    fputs("symcachectl " NAME ": ", stderr);
    printable_put(stderr, file);
    if (part != NULL) {
        fputs(": ", stderr);
        printable_put(stderr, part);
    }
    fputs(": ", stderr);
    printable_put(stderr, reason);
    fputs("; left out\n", stderr);
    sort->refused++;
}

/* The others are sorted all the same. */
static void tell_unread(struct sort *sort, const char *path, int errnum)
{
    bar_clear(&sort->bar);
    (void)command_fail(COMMAND_IO, path, strerror(errnum));
    sort->unread++;
}

static void show_counts(struct sort *sort)
{
    char text[100];

    if (bar_clock() - sort->began > QUIET_MS) {
        snprintf(text, sizeof(text), "%zu files read, %zu sorted",
                 sort->looked, sort->written);
        bar_draw(&sort->bar, 0, 0, text);
    }
}

/* One line on standard output for each file that is laid down. */
static void tell_sorted(struct sort *sort, const char *part,
                        const struct unified_path *path)
{
    bar_clear(&sort->bar);
    printf("%.2s/%s/%s\t", path->id, path->id + 2, unified_word(path->type));
    printable_put(stdout, sort->file);
    if (part != NULL) {
        fputs(": ", stdout);
        printable_put(stdout, part);
    }
    printf("\t%s, %s\n", path->format, path->arch);
}

static void put_sorted(struct sort *sort, int fd, const char *name,
                       const char *part, bool is_made,
                       const struct unified_path *path)
{
    switch (unified_tree_put(sort->tree, fd, name, is_made, path)) {
    case UNIFIED_WRITTEN:
        sort->written++;
        /* fall through */
    case UNIFIED_REPLACED:
        tell_sorted(sort, part, path);
        break;
    case UNIFIED_FAILED:
        bar_clear(&sort->bar);
        sort->rc = command_fail(COMMAND_IO, sort->file, strerror(errno));
        break;
    case UNIFIED_KNOWN:
        sort->doubles++;
        break;
    }
}

/* Adds the sources of a file with debug information, unless the tree has some
 * of its module. */
static void put_sources(struct sort *sort, int fd, const char *name,
                        const char *part, const struct unified_path *path)
{
    struct unified_path bundle;
    char from[32], to[PATH_MAX], error[512];
    int made, rc;

    if (sort->folder[0] == '\0' || !path->has_debug_info ||
        unified_tree_has(sort->tree, path->id, UNIFIED_SOURCEBUNDLE)) {
        return;
    }
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    snprintf(to, sizeof(to), "%s/bundle", sort->folder);
    bar_clear(&sort->bar);
    rc = bundle_sources(from, name, sort->folder, to);
    if (rc == COMMAND_INTERRUPTED) {
        sort->rc = rc;
    }
    if (rc != COMMAND_OK) {
        return; /* which has said so */
    }
    made = open(to, O_RDONLY | O_CLOEXEC);
    if (made >= 0 &&
        examine_unified(made, name, &bundle, error, sizeof(error)) == 1) {
        memcpy(bundle.id, path->id, sizeof(bundle.id));
        put_sorted(sort, made, name, part, true, &bundle);
        sort->bundles++;
    }
    fd_close(made);
    (void)unlink(to);
}

static void take_sorted(struct sort *sort, int fd, const char *name,
                        const char *part);

static void sort_take_part(void *arg, const struct container_part *part)
{
    struct sort *sort = arg;

    if (part->content == NULL) {
        if (part->is_damaged || part->is_cut) {
            refuse_file(sort, sort->file, part->name, part->error);
        }
        return;
    }
    if (sort->rc == COMMAND_OK) {
        take_sorted(sort, fileno(part->content),
                    part->file != NULL ? part->file : basename(sort->file),
                    part->name);
    }
    fclose(part->content);
}

/* Is this a part of a program's debug information, which only that names? */
static bool is_split(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot != NULL &&
           (strcmp(dot, ".dwo") == 0 || strcmp(dot, ".dwp") == 0);
}

/* Takes a file, or each of its parts: archives may have fat files in them. */
static void take_sorted(struct sort *sort, int fd, const char *name,
                        const char *part)
{
    enum container_kind kind = container_sniff(fd);
    struct unified_path path;
    char error[512] = "";
    bool was_inside = sort->is_inside;
    int rc;

    if (kind == CONTAINER_FAT || (kind == CONTAINER_ZIP && !sort->is_inside)) {
        sort->is_inside = true;
        if (container_read(fd, kind, sort_take_part, sort, error,
                           sizeof(error)) != 0) {
            refuse_file(sort, sort->file, part, error);
        }
        sort->is_inside = was_inside;
        return;
    }
    rc = examine_unified(fd, name, &path, error, sizeof(error));
    if (rc < 0) {
        refuse_file(sort, sort->file, part, error);
    } else if (rc == 0) {
        sort->splits += is_split(name);
    } else {
        put_sorted(sort, fd, name, part, false, &path);
        if (sort->rc == COMMAND_OK) {
            put_sources(sort, fd, name, part, &path);
        }
    }
}

static void sort_take_file(struct sort *sort, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        tell_unread(sort, path, errno);
        return;
    }
    sort->file = path;
    take_sorted(sort, fd, basename(path), NULL);
    close(fd);
    sort->looked++;
    show_counts(sort);
}

static int sort_compare_paths(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The output folder is never an input, even with files from an earlier run:
 * its files have lost their names. */
static bool is_output(const struct sort *sort, const struct stat *st)
{
    return st->st_dev == sort->output.st_dev &&
           st->st_ino == sort->output.st_ino;
}

static void walk_operands(struct sort *sort, char **operands)
{
    FTS *fts = fts_open(operands, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
                        sort_compare_paths);
    FTSENT *entry;

    if (fts == NULL) {
        sort->rc = command_fail(COMMAND_IO, operands[0], strerror(errno));
        return;
    }
    while (sort->rc == COMMAND_OK && (entry = fts_read(fts)) != NULL) {
        switch (entry->fts_info) {
        case FTS_D:
            if (entry->fts_level > FTS_ROOTLEVEL &&
                is_output(sort, entry->fts_statp)) {
                (void)fts_set(fts, entry, FTS_SKIP);
            }
            break;
        case FTS_F:
            sort_take_file(sort, entry->fts_path);
            break;
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            tell_unread(sort, entry->fts_path, entry->fts_errno);
            break;
        case FTS_SLNONE: /* an operand, as links are not followed below it */
            tell_unread(sort, entry->fts_path, ENOENT);
            break;
        case FTS_DEFAULT:
            if (entry->fts_level == FTS_ROOTLEVEL) {
                refuse_file(sort, entry->fts_path, NULL, "is no regular file");
            }
            break;
        default:
            break;
        }
    }
    fts_close(fts);
}

static int finish_sort(struct sort *sort)
{
    int rc = sort->rc;

    if (sort->folder[0] != '\0') {
        (void)rmdir(sort->folder);
    }
    if (unified_tree_close(sort->tree) != 0 && rc == COMMAND_OK) {
        rc = command_fail(COMMAND_IO, NAME, strerror(errno));
    }
    bar_clear(&sort->bar);
    fprintf(stderr,
            "symcachectl " NAME ": %zu file%s read, %zu sorted, %zu bundle%s "
            "of sources made, %zu left out",
            sort->looked, sort->looked == 1 ? "" : "s", sort->written,
            sort->bundles, sort->bundles == 1 ? "" : "s", sort->refused);
    if (sort->doubles > 0) {
        fprintf(stderr, ", %zu there already", sort->doubles);
    }
    if (sort->splits > 0) {
        fprintf(stderr,
                ", %zu .dwo or .dwp without an id of their own: \"symcachectl "
                "upload\" sends a .dwp with its program",
                sort->splits);
    }
    if (sort->unread > 0) {
        fprintf(stderr, ", %zu could not be read", sort->unread);
        rc = rc == COMMAND_OK ? COMMAND_IO : rc;
    }
    if (sort->looked > 0 &&
        sort->written + sort->doubles + sort->refused + sort->unread == 0) {
        fputs(": no file is of a format of this layout", stderr);
    }
    fputc('\n', stderr);
    if (rc == COMMAND_OK && (sort->refused > 0 || sort->written == 0)) {
        rc = COMMAND_NOT_FOUND;
    }
    return command_finish(rc);
}

int sort_command(int argc, char **argv)
{
    const char *output = NULL, *bundle_id = NULL;
    int fast = 0, good = 0, best = 0, with_sources = 0;
    const struct option_spec specs[] = {
        {"-o", NULL, &output}, {"--bundle-id", NULL, &bundle_id},
        {"-z", &fast, NULL},   {"-zz", &good, NULL},
        {"-zzz", &best, NULL}, {"--with-sources", &with_sources, NULL}};
    struct sort sort = {.began = bar_clock()};

    argc = options_parse(NAME, specs, COUNT(specs), argc, argv);
    if (argc < 1 || output == NULL) {
        return argc < 0 ? COMMAND_USAGE
                        : command_usage(
                              NAME, argc == 0 ? "no FOLDER" : "no -o", NULL);
    }
    if (bundle_id != NULL && !unified_tree_is_bundle_id(bundle_id)) {
        return command_usage(NAME, "no id of a bundle", bundle_id);
    }
    if (stat(output, &sort.output) == 0 && !S_ISDIR(sort.output.st_mode)) {
        return command_fail(COMMAND_IO, output, strerror(ENOTDIR));
    }
    bar_init(&sort.bar);
    sort.tree = unified_tree_new(output,
                                 best   ? 19
                                 : good ? 10
                                 : fast ? 3
                                        : 0,
                                 bundle_id);
    if (sort.tree == NULL || stat(output, &sort.output) != 0) {
        return command_fail(COMMAND_IO, output,
                            errno == ENOENT
                                ? "cannot be made: the folder above it is "
                                  "not there"
                                : strerror(errno));
    }
    if (with_sources) {
        snprintf(sort.folder, sizeof(sort.folder), "/tmp/symcachectl-XXXXXX");
        if (mkdtemp(sort.folder) == NULL) {
            sort.folder[0] = '\0';
            sort.rc = command_fail(COMMAND_IO, "/tmp", strerror(errno));
        }
    }
    argv[argc] = NULL;
    walk_operands(&sort, argv);
    return finish_sort(&sort);
}
