/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload_builds.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include "base/hash_table.h"
#include "proto/upload.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"
#include "upload_bundles.h"

/* Try builds are a tree of their own. */
static const char *const trees[] = {"", "/.try"};

#define TREES (sizeof(trees) / sizeof(trees[0]))

/* Paths of files in lists. */
struct upload_paths {
    struct table table; /* of the texts */
    char **texts;       /* of lists */
    size_t n;
};

static bool upload_paths_have(const struct upload_paths *paths,
                              const char *path)
{
    uint64_t hash = table_hash_text(&paths->table, path);
    const char *other;
    size_t at = 0;

    while ((other = (const char *)table_next(&paths->table, hash, &at)) !=
           NULL) {
        if (strcmp(other, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a path.  Returns false if it is there already. */
static bool upload_paths_add(struct upload_paths *paths, const char *path)
{
    if (upload_paths_have(paths, path)) {
        return false;
    }
    if (table_add(&paths->table, table_hash_text(&paths->table, path),
                  (uintptr_t)path) != 0) {
        command_no_memory();
    }
    return true;
}

static void upload_paths_free(struct upload_paths *paths)
{
    while (paths->n > 0) {
        free(paths->texts[--paths->n]);
    }
    free(paths->texts);
    table_free(&paths->table);
    memset(paths, 0, sizeof(*paths));
}

/* Reads a list, which lives as long as paths.  NULL: it is gone. */
static const char *upload_paths_read_list(struct upload_paths *paths,
                                          const char *root,
                                          const struct build_labels *labels,
                                          size_t *size)
{
    char **texts = realloc(paths->texts, (paths->n + 1) * sizeof(texts[0]));
    char *text = build_list_read(root, labels, size);

    if (texts == NULL) {
        command_no_memory();
    }
    paths->texts = texts;
    if (text != NULL) {
        texts[paths->n++] = text;
    }
    return text;
}

static bool build_find_file(const char *root, const char *path,
                            struct stat *st)
{
    char full[PATH_MAX];

    snprintf(full, sizeof(full), "%.2000s/%.2000s", root, path);
    return lstat(full, st) == 0 && S_ISREG(st->st_mode);
}

/* show ------------------------------------------------------------------ */

static cJSON *labels_object(const struct build_labels *labels)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "product", labels->product);
    cJSON_AddStringToObject(object, "branch", labels->branch);
    cJSON_AddStringToObject(object, "build", labels->build);
    return object;
}

static void print_labels(const struct build_labels *build)
{
    const char *labels[] = {build->product, build->branch, build->build};
    size_t i;

    for (i = 0; i < 3; i++) {
        fputs("  ", stdout);
        printable_put(stdout, labels[i][0] != '\0' ? labels[i] : "-");
    }
    putchar('\n');
}

static void show_build(const char *root, const struct build *build,
                       bool is_json)
{
    char text[PRINTABLE_SIZE_MAX], time[PRINTABLE_TIME_MAX];
    struct upload_paths paths = {.n = 0};
    const char *list, *path;
    size_t size, at = 0, files = 0;
    uint64_t bytes = 0;
    struct stat st;
    cJSON *object;

    list = upload_paths_read_list(&paths, root, &build->labels, &size);
    while (list != NULL && (path = build_list_next(list, size, &at)) != NULL) {
        if (upload_paths_add(&paths, path) &&
            build_find_file(root, path, &st)) {
            files++;
            bytes += (uint64_t)st.st_size;
        }
    }
    upload_paths_free(&paths);
    if (is_json) {
        object = labels_object(&build->labels);
        cJSON_AddNumberToObject(object, "files", (double)files);
        cJSON_AddNumberToObject(object, "size", (double)bytes);
        cJSON_AddNumberToObject(object, "uploaded", (double)build->last);
        printable_json(stdout, object);
        cJSON_Delete(object);
        return;
    }
    printable_size(text, bytes);
    printable_time(time, (double)build->last);
    printf("%6zu %-5s  %10s  %s", files, files == 1 ? "file" : "files", text,
           time);
    print_labels(&build->labels);
}

/* Reads the lists of a tree.  Returns an exit code. */
static int read_tree(char tree[PATH_MAX], const char *root, size_t i,
                     struct build_lists *lists)
{
    int rc;

    snprintf(tree, PATH_MAX, "%.2000s%s", root, trees[i]);
    rc = build_lists_read(tree, lists);
    return rc == 0 ? COMMAND_OK : command_fail(COMMAND_IO, tree, strerror(rc));
}

int upload_builds_show(const char *root, const struct build_pattern *pattern,
                       bool is_json)
{
    int code = COMMAND_NOT_FOUND, one;
    struct build_lists lists;
    char tree[PATH_MAX];
    size_t i, j;

    for (i = 0; i < TREES; i++) {
        one = read_tree(tree, root, i, &lists);
        if (one != COMMAND_OK) {
            return one;
        }
        for (j = 0; j < lists.n; j++) {
            if (build_pattern_matches(pattern, &lists.builds[j].labels)) {
                show_build(tree, &lists.builds[j], is_json);
                code = COMMAND_OK;
            }
        }
        build_lists_clear(&lists);
    }
    return code == COMMAND_OK
               ? COMMAND_OK
               : command_fail(code, root, "no such build");
}

/* files ----------------------------------------------------------------- */

/* A list that is not there is one that has just been removed.  Returns an exit
 * code. */
static int no_list(const char *tree, const struct build_labels *labels)
{
    char path[PATH_MAX];
    int num = errno;

    if (num == ENOENT) {
        return COMMAND_OK;
    }
    build_list_path(path, tree, labels);
    return command_fail(COMMAND_IO, path, strerror(num));
}

int upload_builds_files(const char *root, const struct build_pattern *pattern,
                        void (*print)(void *arg, const char *path), void *arg)
{
    char tree[PATH_MAX], full[PATH_MAX];
    int code = COMMAND_NOT_FOUND, one;
    const char *list, *path;
    struct build_lists lists;
    size_t i, j, size, at;
    struct stat st;

    for (i = 0; i < TREES; i++) {
        struct upload_paths paths = {.n = 0};

        one = read_tree(tree, root, i, &lists);
        if (one != COMMAND_OK) {
            return one;
        }
        for (j = 0; j < lists.n; j++) {
            if (!build_pattern_matches(pattern, &lists.builds[j].labels)) {
                continue;
            }
            list = upload_paths_read_list(&paths, tree,
                                          &lists.builds[j].labels, &size);
            if (list == NULL && no_list(tree, &lists.builds[j].labels) != 0) {
                code = COMMAND_IO;
            }
            at = 0;
            while (list != NULL &&
                   (path = build_list_next(list, size, &at)) != NULL) {
                if (upload_paths_add(&paths, path) &&
                    build_find_file(tree, path, &st)) {
                    snprintf(full, sizeof(full), "%.2000s/%.2000s", tree,
                             path);
                    print(arg, full);
                    code = code == COMMAND_IO ? code : COMMAND_OK;
                }
            }
        }
        upload_paths_free(&paths);
        build_lists_clear(&lists);
    }
    return code;
}

/* forget ---------------------------------------------------------------- */

/* Was a file changed since then, by the clock of its kernel? */
static bool is_younger(const struct timespec *changed,
                       const struct timespec *begun)
{
    return changed->tv_sec != begun->tv_sec
               ? changed->tv_sec > begun->tv_sec
               : changed->tv_nsec > begun->tv_nsec;
}

/* Why a file does not go with its builds, or NULL; "": it is not there.  One
 * that was sent since the lists were read may be of another build. */
static const char *why_kept(const char *root, const char *path,
                            const struct timespec *begun)
{
    char full[PATH_MAX];
    struct stat st;

    snprintf(full, sizeof(full), "%.2000s/%.2000s", root, path);
    if (lstat(full, &st) != 0) {
        return "";
    }
    if (is_younger(&st.st_ctim, begun)) {
        return "has been sent meanwhile";
    }
    if (lgetxattr(full, SYMCACHE_UPLOAD_LABELLED, NULL, 0) < 0) {
        return errno == ENODATA ? "also sent without labels"
                                : "its attributes cannot be read";
    }
    return lgetxattr(full, SYMCACHE_UPLOAD_PINNED, NULL, 0) >= 0 ? "pinned"
           : errno == ENODATA ? NULL
                              : "its attributes cannot be read";
}

/* Takes note of the files of a build that stays.  Returns an exit code. */
static int keep_path(struct upload_paths *kept, const char *tree,
                     const struct build_labels *labels)
{
    const char *list, *path;
    size_t size, at = 0;

    list = upload_paths_read_list(kept, tree, labels, &size);
    if (list == NULL) {
        return no_list(tree, labels);
    }
    while ((path = build_list_next(list, size, &at)) != NULL) {
        (void)upload_paths_add(kept, path);
    }
    return COMMAND_OK;
}

/* Removes a list that has been read.  Returns an exit code. */
static int remove_list(const char *tree, const struct build_labels *labels,
                       const struct timespec *begun)
{
    char path[PATH_MAX];
    struct stat st;

    build_list_path(path, tree, labels);
    if (stat(path, &st) == 0 && is_younger(&st.st_mtim, begun)) {
        return command_fail(COMMAND_IO, path,
                            "the build has been sent meanwhile");
    }
    return build_list_remove(tree, labels) == 0
               ? COMMAND_OK
               : command_fail(COMMAND_IO, path, strerror(errno));
}

static void tell_removed(const struct settings *settings,
                         const struct build_labels *labels)
{
    cJSON *object;

    if (settings->is_json) {
        object = labels_object(labels);
        printable_json(stdout, object);
        cJSON_Delete(object);
        return;
    }
    fputs("removed  the build", stdout);
    print_labels(labels);
}

/* They can be most of a build, so they are only counted. */
static void tell_shared(const struct settings *settings, size_t n)
{
    cJSON *object;

    if (n == 0) {
        return;
    }
    if (settings->is_json) {
        object = cJSON_CreateObject();
        cJSON_AddNumberToObject(object, "removed", 0);
        cJSON_AddStringToObject(object, "kept", "in other builds");
        cJSON_AddNumberToObject(object, "files", (double)n);
        printable_json(stdout, object);
        cJSON_Delete(object);
        return;
    }
    printf("kept: in other builds  %zu file%s\n", n, n == 1 ? "" : "s");
}

/* Removes the files of a build, and then its list.  kept has those of builds
 * that stay, handled those that were removed before; begun is when the first
 * list was read. */
static int forget(const struct settings *settings,
                  const struct upload_paths *kept,
                  struct upload_paths *handled, const char *tree,
                  const char *prefix, const struct build_labels *labels,
                  const struct timespec *begun,
                  int (*remove)(const struct settings *settings, char *path))
{
    static const struct bundle_entries none;
    const char *list, *path, *why;
    int code = COMMAND_OK, one;
    char text[PATH_MAX];
    struct upload_paths shared = {.n = 0};
    size_t size, at = 0, n = 0;

    list = upload_paths_read_list(handled, tree, labels, &size);
    if (list == NULL) {
        return no_list(tree, labels);
    }
    while ((path = build_list_next(list, size, &at)) != NULL) {
        if (upload_paths_have(kept, path)) {
            n += upload_paths_add(&shared, path);
            continue;
        }
        if (!upload_paths_add(handled, path)) {
            continue;
        }
        snprintf(text, sizeof(text), "%s%.2000s", prefix, path);
        why = why_kept(tree, path, begun);
        if (why != NULL) {
            if (why[0] != '\0') {
                bundle_tell_kept(settings, &none, text, why);
            }
            continue;
        }
        one = remove(settings, text);
        code = one > code ? one : code;
    }
    upload_paths_free(&shared);
    tell_shared(settings, n);
    if (code == COMMAND_OK) {
        code = remove_list(tree, labels, begun);
        if (code == COMMAND_OK) {
            tell_removed(settings, labels);
        }
    }
    return code;
}

int upload_builds_forget(const struct settings *settings, const char *root,
                         const struct build_pattern *pattern,
                         int (*remove)(const struct settings *settings,
                                       char *path))
{
    int code = COMMAND_OK, one;
    struct build_lists lists;
    struct timespec begun;
    char tree[PATH_MAX];
    size_t i, j, n = 0;

    clock_gettime(CLOCK_REALTIME_COARSE, &begun); /* which files have */
    for (i = 0; i < TREES; i++) {
        struct upload_paths kept = {.n = 0}, handled = {.n = 0};

        one = read_tree(tree, root, i, &lists);
        if (one != COMMAND_OK) {
            return one;
        }
        for (j = 0; j < lists.n && one == COMMAND_OK; j++) {
            if (!build_pattern_matches(pattern, &lists.builds[j].labels)) {
                one = keep_path(&kept, tree, &lists.builds[j].labels);
            }
        }
        if (one != COMMAND_OK) { /* it could have any of the files */
            upload_paths_free(&kept);
            build_lists_clear(&lists);
            return one;
        }
        for (j = 0; j < lists.n; j++) {
            if (!build_pattern_matches(pattern, &lists.builds[j].labels)) {
                continue;
            }
            n++;
            one = forget(settings, &kept, &handled, tree,
                         trees[i][0] != '\0' ? ".try/" : "",
                         &lists.builds[j].labels, &begun, remove);
            code = one > code ? one : code;
        }
        upload_paths_free(&kept);
        upload_paths_free(&handled);
        build_lists_clear(&lists);
    }
    return code == COMMAND_OK && n == 0
               ? command_fail(COMMAND_NOT_FOUND, root, "no such build")
               : code;
}
