/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds that uploaded files belong to.  Each has a list of its files:
 *
 *   <root>/.builds/<product>/<branch>/<build>
 *
 * is a text with a path <name>/<id>/<file> in each line, sorted or not, perhaps
 * more than once, and perhaps of a file that is gone.  The three labels are
 * percent-encoded (RFC 3986); "%" stands for an empty one.  The time of a list
 * is that of the build's last upload.
 *
 * A file that was uploaded with labels only, and never without, has the
 * attribute SYMCACHE_UPLOAD_LABELLED: it may be removed with its builds.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define BUILD_LIST_FOLDER ".builds"

/* Bytes of a label, in UTF-8. */
#define BUILD_LABEL_MAX 64

struct build_labels {
    char product[BUILD_LABEL_MAX + 1]; /* "": not said, as for the branch */
    char branch[BUILD_LABEL_MAX + 1];
    char build[BUILD_LABEL_MAX + 1]; /* "": there are no labels */
};

/* Whether key names a label.  Then *wrong gets the reason why the value cannot
 * be one, or NULL. */
bool build_labels_set(struct build_labels *labels, const char *key,
                      const char *value, const char **wrong);

/* Returns what is wrong with labels that have all been set, or NULL. */
const char *build_labels_check(const struct build_labels *labels);

/* Writes the path of a list. */
void build_list_path(char path[PATH_MAX], const char *root,
                     const struct build_labels *labels);

/*
 * Adds n paths to the list of a build, and makes its folders.  checks: some may
 * be in it already; otherwise all are added, without reading it.  The lists of
 * one root are changed by one thread at a time.  Returns 0, or an errno.
 */
int build_list_add(const char *root, const struct build_labels *labels,
                   char *const *paths, size_t n, bool checks);

struct build {
    struct build_labels labels;
    time_t last; /* upload */
};

struct build_lists {
    struct build *builds; /* by product and branch, then the newest first */
    size_t n;
};

/* Finds all builds below a root; there may be none.  Returns 0, or an errno. */
int build_lists_read(const char *root, struct build_lists *lists);
void build_lists_clear(struct build_lists *lists);

/*
 * Reads a list.  Returns its text, in which each path ends with a NUL instead
 * of its line end, *size bytes in all and to be freed; or NULL with errno.
 */
char *build_list_read(const char *root, const struct build_labels *labels,
                      size_t *size);

/* The next path of such a text, or NULL.  *at is 0 before the first call. */
const char *build_list_next(const char *text, size_t size, size_t *at);

/* Removes a list, and its folders if they are empty then.  Returns -1 with
 * errno if it is still there. */
int build_list_remove(const char *root, const struct build_labels *labels);

/* Patterns with "*" and "?" for labels, as in base/glob.h; NULL matches all. */
struct build_pattern {
    char *product;
    char *branch;
    char *build;
};

bool build_pattern_matches(const struct build_pattern *pattern,
                           const struct build_labels *labels);
