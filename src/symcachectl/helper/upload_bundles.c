/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upload_bundles.h"
#include "upload_builds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/array.h"
#include "base/artifact_list.h"
#include "base/fd_close.h"
#include "base/glob.h"
#include "proto/upload.h"
#include "symcachectl/command.h"
#include "symcachectl/terminal/printable.h"

/* "[.try/]_/hash-<SHA-1>/_.artifacts" */
#define TRY ".try/"
#define FOLDER "_/hash-"
#define END "/_.artifacts"
#define PATH_SIZE (sizeof(TRY FOLDER END) + ARTIFACTS_SUM)

#define NAMES_MAX 1024 /* bytes of the names of a release and its dist */
#define MATCH_STEPS 100000

/* A bundle in a list, which is that of a release or of a debug id. */
struct bundle_entry {
    char path[PATH_SIZE];
    bool is_release;
    bool is_of_build;
    char *name;
    char *dist; /* "": none */
};

/* reading ------------------------------------------------------------------ */

/* Reads the names of a release and its dist, two lines.  Where there are none,
 * as in lists of before, the name is that of the list. */
static void bundle_read_names(int dir, const char *list, char names[NAMES_MAX],
                              const char **dist)
{
    int fd = openat(dir, ARTIFACTS_RELEASE,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, names, NAMES_MAX - 1) : -1;
    char *end;

    fd_close(fd);
    names[n > 0 ? n : 0] = '\0';
    end = strchr(names, '\n');
    if (end == NULL) {
        snprintf(names, NAMES_MAX, "%s", list);
        *dist = "";
        return;
    }
    *end++ = '\0';
    end[strcspn(end, "\n")] = '\0';
    *dist = end;
}

static void bundle_add_entry(struct bundle_entries *bundles, const char *tree,
                             const char *sum, bool is_release,
                             const char *name, const char *dist)
{
    struct bundle_entry *bundle;

    if (array_need(&bundles->all, &bundles->room, bundles->n + 1,
                   sizeof(*bundle)) != 0) {
        command_no_memory();
    }
    bundle = &bundles->all[bundles->n++];
    snprintf(bundle->path, sizeof(bundle->path), "%s" FOLDER "%s" END, tree,
             sum);
    bundle->is_release = is_release;
    bundle->is_of_build = false;
    bundle->name = strdup(name);
    bundle->dist = strdup(dist);
    if (bundle->name == NULL || bundle->dist == NULL) {
        command_no_memory();
    }
}

static void bundle_read_list(struct bundle_entries *bundles, const char *tree,
                             int lists, const char *list)
{
    static const char release[] = "release-";
    bool is_release = strncmp(list, release, sizeof(release) - 1) == 0;
    int fd = openat(lists, list, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const char *name = list, *dist = "";
    const struct dirent *item;
    char names[NAMES_MAX];

    if (dir == NULL) {
        fd_close(fd);
        return; /* it has just been removed, or is no list */
    }
    if (is_release) {
        bundle_read_names(fd, list, names, &dist);
        name = names;
    }
    while ((item = readdir(dir)) != NULL) {
        if (strlen(item->d_name) == ARTIFACTS_SUM) {
            bundle_add_entry(bundles, tree, item->d_name, is_release, name,
                             dist);
        }
    }
    closedir(dir);
}

static int bundle_compare(const void *a, const void *b)
{
    const struct bundle_entry *x = a, *y = b;
    int diff = strcmp(x->path, y->path);

    diff = diff != 0 ? diff : y->is_release - x->is_release;
    diff = diff != 0 ? diff : strcmp(x->name, y->name);
    return diff != 0 ? diff : strcmp(x->dist, y->dist);
}

int bundle_entries_read(const char *root, struct bundle_entries *bundles)
{
    static const char *const trees[] = {"", TRY};
    const struct dirent *item;
    char path[PATH_MAX];
    size_t i;
    DIR *dir;

    *bundles = (struct bundle_entries){.n = 0};
    for (i = 0; i < COUNT(trees); i++) {
        snprintf(path, sizeof(path), "%.2000s/%s" ARTIFACTS_FOLDER, root,
                 trees[i]);
        dir = opendir(path);
        if (dir == NULL && errno != ENOENT && errno != ENOTDIR) {
            return command_fail(COMMAND_IO, path, strerror(errno));
        }
        while (dir != NULL && (item = readdir(dir)) != NULL) {
            if (item->d_name[0] != '.') {
                bundle_read_list(bundles, trees[i], dirfd(dir), item->d_name);
            }
        }
        if (dir != NULL) {
            closedir(dir);
        }
    }
    if (bundles->n > 0) {
        qsort(bundles->all, bundles->n, sizeof(bundles->all[0]),
              bundle_compare);
    }
    return COMMAND_OK;
}

void bundle_entries_clear(struct bundle_entries *bundles)
{
    while (bundles->n > 0) {
        bundles->n--;
        free(bundles->all[bundles->n].name);
        free(bundles->all[bundles->n].dist);
    }
    free(bundles->all);
    *bundles = (struct bundle_entries){.n = 0};
}

/* one bundle --------------------------------------------------------------- */

/* Returns the first entry of a bundle, and *n of them; they are in order. */
static const struct bundle_entry *
bundle_find_entries(const struct bundle_entries *bundles, const char *path,
                    size_t *n)
{
    size_t low = 0, high = bundles->n, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (strcmp(bundles->all[middle].path, path) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *n = 0;
    while (low + *n < bundles->n &&
           strcmp(bundles->all[low + *n].path, path) == 0) {
        ++*n;
    }
    return bundles->all + low;
}

static bool bundle_matches(const struct bundle_entry *bundle,
                           const char *pattern)
{
    size_t steps = MATCH_STEPS;

    return bundle->is_release &&
           (strcmp(bundle->name, pattern) == 0 ||
            (glob_is_valid(pattern, strlen(pattern)) &&
             glob_matches(pattern, strlen(pattern), bundle->name,
                          strlen(bundle->name), &steps)));
}

bool bundle_has_release(const struct bundle_entries *bundles, const char *path,
                        const char *pattern)
{
    const struct bundle_entry *bundle;
    size_t n;

    for (bundle = bundle_find_entries(bundles, path, &n); n > 0;
         bundle++, n--) {
        if (bundle_matches(bundle, pattern)) {
            return true;
        }
    }
    return false;
}

void bundle_print(const struct bundle_entries *bundles, const char *path)
{
    const struct bundle_entry *bundle;
    size_t n, ids = 0;

    for (bundle = bundle_find_entries(bundles, path, &n); n > 0;
         bundle++, n--) {
        if (!bundle->is_release) {
            ids++;
            continue;
        }
        fputs("  release ", stdout);
        printable_put(stdout, bundle->name);
        if (bundle->dist[0] != '\0') {
            fputs(" dist ", stdout);
            printable_put(stdout, bundle->dist);
        }
    }
    if (ids > 0) {
        printf("  %zu debug id%s", ids, ids > 1 ? "s" : "");
    }
}

void bundle_add(cJSON *object, const struct bundle_entries *bundles,
                const char *path)
{
    cJSON *releases = NULL, *ids = NULL, *release;
    const struct bundle_entry *bundle;
    size_t n;

    bundle = bundle_find_entries(bundles, path, &n);
    if (n > 0) {
        releases = cJSON_AddArrayToObject(object, "releases");
        ids = cJSON_AddArrayToObject(object, "debug_ids");
    }
    for (; n > 0; bundle++, n--) {
        if (!bundle->is_release) {
            cJSON_AddItemToArray(ids, cJSON_CreateString(bundle->name));
            continue;
        }
        release = cJSON_CreateObject();
        cJSON_AddStringToObject(release, "release", bundle->name);
        if (bundle->dist[0] != '\0') {
            cJSON_AddStringToObject(release, "dist", bundle->dist);
        }
        cJSON_AddItemToArray(releases, release);
    }
}

/* removal ------------------------------------------------------------------ */

void bundle_tell(const struct settings *settings,
                 const struct bundle_entries *bundles, const char *path,
                 cJSON *object, const char *what)
{
    if (settings->is_json) {
        cJSON_AddStringToObject(object, "file", path);
        bundle_add(object, bundles, path);
        printable_json(stdout, object);
        return;
    }
    printf("%s  ", what);
    printable_put(stdout, path);
    bundle_print(bundles, path);
    putchar('\n');
}

/* Lists name a bundle that is gone until they are cleaned. */
static bool bundle_is_gone(const char *root, const struct bundle_entry *bundle)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "%.2000s/%s", root, bundle->path);
    return lstat(path, &st) != 0 && errno == ENOENT;
}

struct sought {
    const struct bundle_entries *entries;
    size_t root; /* bytes before the path of an entry */
};

static void bundle_mark_path(void *arg, const char *path)
{
    const struct sought *sought = arg;
    const struct bundle_entry *first;
    size_t n;

    first = bundle_find_entries(sought->entries, path + sought->root, &n);
    while (n > 0) {
        sought->entries->all[first - sought->entries->all + --n].is_of_build =
            true;
    }
}

/* Marks the bundles that a build has.  Returns an exit code. */
static int bundle_mark_builds(const char *root,
                              const struct bundle_entries *bundles)
{
    static const struct build_pattern all;
    struct sought sought = {bundles, strlen(root) + 1};
    int code = upload_builds_files(root, &all, bundle_mark_path, &sought);

    return code == COMMAND_NOT_FOUND ? COMMAND_OK : code;
}

/* Why a bundle stays which has releases that the pattern matches, or NULL. */
static const char *bundle_why_kept(const char *root,
                                   const struct bundle_entry *bundle, size_t n,
                                   const char *pattern)
{
    char path[PATH_MAX];
    size_t i;

    for (i = 0; i < n; i++) {
        if (bundle[i].is_release && !bundle_matches(&bundle[i], pattern)) {
            return "has another release";
        }
    }
    if (bundle->is_of_build) {
        return "a build has it";
    }
    snprintf(path, sizeof(path), "%.2000s/%s", root, bundle->path);
    return lgetxattr(path, SYMCACHE_UPLOAD_PINNED, NULL, 0) >= 0
               ? "pinned"
           : errno == ENODATA || errno == ENOTSUP
               ? NULL
               : "its attributes cannot be read";
}

void bundle_tell_kept(const struct settings *settings,
                      const struct bundle_entries *bundles, const char *path,
                      const char *why)
{
    cJSON *object = cJSON_CreateObject();
    char what[64];

    snprintf(what, sizeof(what), "kept: %s", why);
    cJSON_AddNumberToObject(object, "removed", 0);
    cJSON_AddStringToObject(object, "kept", why);
    bundle_tell(settings, bundles, path, object, what);
    cJSON_Delete(object);
}

int bundles_forget(const struct settings *settings, const char *root,
                   const char *pattern, bundle_remove_fn remove)
{
    const struct bundle_entry *bundle;
    struct bundle_entries bundles;
    const char *why;
    size_t i, n, found = 0;
    int code = bundle_entries_read(root, &bundles), one;

    if (code == COMMAND_OK) {
        code = bundle_mark_builds(root, &bundles);
    }
    if (code != COMMAND_OK) { /* a build could have any of the bundles */
        bundle_entries_clear(&bundles);
        return code;
    }
    for (i = 0; i < bundles.n; i += n) {
        bundle = bundle_find_entries(&bundles, bundles.all[i].path, &n);
        if (!bundle_has_release(&bundles, bundle->path, pattern) ||
            bundle_is_gone(root, bundle)) {
            continue;
        }
        found++;
        why = bundle_why_kept(root, bundle, n, pattern);
        if (why != NULL) {
            bundle_tell_kept(settings, &bundles, bundle->path, why);
        } else {
            one = remove(settings, &bundles, bundle->path);
            code = one > code ? one : code;
        }
    }
    bundle_entries_clear(&bundles);
    return code == COMMAND_OK && found == 0
               ? command_fail(COMMAND_NOT_FOUND, root, "no such release")
               : code;
}
