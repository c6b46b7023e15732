/*
 * Copyright (C) the ngx_symcache authors
 */
#include "build_list.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "control.h"
#include "durable.h"
#include "glob.h"
#include "percent.h"
#include "utf8.h"
#include "workdir.h"

/* A list is not longer: a million paths of 100 bytes.  More builds are more
 * lists. */
#define BUILD_LIST_MAX (100 * 1024 * 1024)

#define BUILD_LEVEL 3 /* <product>/<branch>/<build> */

#define BUILD_MATCH_STEPS 100000

/* labels ----------------------------------------------------------------- */

bool build_labels_set(struct build_labels *labels, const char *key,
                      const char *value, const char **wrong)
{
    char *to = strcmp(key, "product") == 0  ? labels->product
               : strcmp(key, "branch") == 0 ? labels->branch
               : strcmp(key, "build") == 0  ? labels->build
                                            : NULL;
    size_t len = strlen(value);

    *wrong = NULL;
    if (to == NULL) {
        return false;
    }
    if (len == 0 || len > BUILD_LABEL_MAX || control_in(value) ||
        utf8_valid(value, len) != len) {
        *wrong = "a label (product, branch or build) has 1 to 64 bytes of "
                 "UTF-8 without control characters";
    } else if (to[0] != '\0') {
        *wrong = "a label (product, branch or build) is given once";
    } else {
        memcpy(to, value, len + 1);
    }
    return true;
}

const char *build_labels_check(const struct build_labels *labels)
{
    return labels->build[0] == '\0' &&
                   (labels->product[0] != '\0' || labels->branch[0] != '\0')
               ? "labels need the name of a build: build=NAME"
               : NULL;
}

/* Returns the end of what was written. */
static char *encode_build_label(char *p, const char *label)
{
    if (label[0] == '\0') {
        return stpcpy(p, "%");
    }
    if (label[0] == '.') { /* which hides a file, or names a folder */
        p = stpcpy(p, "%2E");
        label++;
    }
    return percent_encode(p, label);
}

/* Returns false for a name that encode_build_label() does not write. */
static bool decode_build_label(char to[BUILD_LABEL_MAX + 1], const char *name)
{
    char again[3 * BUILD_LABEL_MAX + 1], text[sizeof(again)];
    size_t n = strlen(name);

    n = n < sizeof(text) ? percent_decode(text, name, n) : sizeof(text);
    if (n > BUILD_LABEL_MAX) {
        return false;
    }
    n = strcmp(name, "%") == 0 ? 0 : n;
    memcpy(to, text, n);
    to[n] = '\0';
    encode_build_label(again, to);
    return strcmp(again, name) == 0;
}

/* paths ------------------------------------------------------------------ */

void build_list_path(char path[PATH_MAX], const char *root,
                     const struct build_labels *labels)
{
    char *p = path + snprintf(path, 2048, "%s/" BUILD_LIST_FOLDER "/", root);

    p = stpcpy(encode_build_label(p, labels->product), "/");
    p = stpcpy(encode_build_label(p, labels->branch), "/");
    (void)encode_build_label(p, labels->build);
}

/* A folder that has become empty goes; its name ends there. */
static void remove_build_parent(char *path)
{
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
}

int build_list_remove(const char *root, const struct build_labels *labels)
{
    char path[PATH_MAX];

    build_list_path(path, root, labels);
    if (unlink(path) != 0 && errno != ENOENT) {
        return -1;
    }
    remove_build_parent(path);
    remove_build_parent(path);
    return 0;
}

/* one list ---------------------------------------------------------------- */

/* Returns 0, or an errno. */
static int read_build_list(int fd, char *text, size_t size)
{
    size_t done = 0;
    ssize_t n;

    while (done < size) {
        n = read(fd, text + done, size - done);
        if (n == 0) {
            break; /* it has been replaced by a shorter one */
        }
        if (n < 0 && errno != EINTR) {
            return errno;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    memset(text + done, 0, size - done);
    return 0;
}

char *build_list_read(const char *root, const struct build_labels *labels,
                      size_t *size)
{
    char path[PATH_MAX], *text = NULL, *p;
    struct stat st;
    int fd, errnum = 0;

    build_list_path(path, root, labels);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &st) != 0) {
        errnum = errno;
    } else if (!S_ISREG(st.st_mode) || st.st_size > BUILD_LIST_MAX) {
        errnum = EFBIG;
    } else {
        *size = (size_t)st.st_size;
        text = malloc(*size + 1);
        errnum = text != NULL ? read_build_list(fd, text, *size) : ENOMEM;
    }
    close(fd);
    if (errnum != 0) {
        free(text);
        errno = errnum;
        return NULL;
    }
    text[*size] = '\0';
    for (p = text; (p = memchr(p, '\n', (size_t)(text + *size - p))) != NULL;
         p++) {
        *p = '\0';
    }
    return text;
}

const char *build_list_next(const char *text, size_t size, size_t *at)
{
    const char *path;

    while (*at < size && text[*at] == '\0') {
        (*at)++;
    }
    if (*at >= size) {
        return NULL;
    }
    path = text + *at;
    *at += strlen(path) + 1;
    return path;
}

static int builds_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Was the last line cut off, by a full disk or a kill?  Leaves the place at the
 * end. */
static bool is_build_list_torn(FILE *f)
{
    bool is_cut = fseek(f, -1, SEEK_END) == 0 && getc(f) != '\n';

    return fseek(f, 0, SEEK_END) == 0 && is_cut;
}

/* Writes lines, each of them once.  Returns 0, or an errno. */
static int write_build_list(const char *path, bool appends, const char **lines,
                            size_t n)
{
    FILE *f = fopen(path, appends ? "a+e" : "we");
    size_t i;
    int rc = 0;

    if (f == NULL) {
        return errno;
    }
    if (appends && is_build_list_torn(f)) {
        putc('\n', f); /* or the next path would belong to that line */
    }
    qsort(lines, n, sizeof(lines[0]), builds_by_text);
    for (i = 0; i < n && rc == 0; i++) {
        if ((i == 0 || strcmp(lines[i - 1], lines[i]) != 0) &&
            fprintf(f, "%s\n", lines[i]) < 0) {
            rc = errno;
        }
    }
    /* it takes the place of another one */
    if (rc == 0 && !appends &&
        (fflush(f) != 0 || durable_sync(fileno(f)) != 0)) {
        rc = errno;
    }
    return fclose(f) != 0 && rc == 0 ? errno : rc;
}

/* Writes the list anew, with what it has and n paths.  Returns 0, or an
 * errno. */
static int rewrite_list(const char *root, const struct build_labels *labels,
                        const char *path, const char **lines, size_t n)
{
    char tmp[PATH_MAX + 8];
    size_t size = 0, at = 0, used = n;
    char *text = build_list_read(root, labels, &size);
    const char *line, **list_paths;
    int rc = errno;

    if (text == NULL && rc != ENOENT) {
        return rc;
    }
    /* a path of three parts has five bytes and its end */
    list_paths = calloc(n + size / 6 + 1, sizeof(list_paths[0]));
    if (list_paths == NULL) {
        free(text);
        return ENOMEM;
    }
    memcpy(list_paths, lines, n * sizeof(list_paths[0]));
    while (text != NULL && used < n + size / 6 + 1 &&
           (line = build_list_next(text, size, &at)) != NULL) {
        list_paths[used++] = line;
    }
    /* no build label is written so */
    snprintf(tmp, sizeof(tmp), "%s%%", path);
    rc = write_build_list(tmp, false, list_paths, used);
    if (rc != 0 || rename(tmp, path) != 0) {
        rc = rc != 0 ? rc : errno;
        (void)unlink(tmp);
    }
    free(list_paths);
    free(text);
    return rc;
}

int build_list_add(const char *root, const struct build_labels *labels,
                   char *const *paths, size_t n, bool checks)
{
    const char **lines = calloc(n + 1, sizeof(lines[0]));
    char path[PATH_MAX], *slash;
    int rc = 0;

    if (lines == NULL) {
        return ENOMEM;
    }
    memcpy(lines, paths, n * sizeof(lines[0]));
    build_list_path(path, root, labels);
    slash = strrchr(path, '/');
    *slash = '\0';
    if (workdir_make_path(path) != 0) {
        rc = errno;
    }
    *slash = '/';
    if (rc == 0) {
        rc = checks ? rewrite_list(root, labels, path, lines, n)
                    : write_build_list(path, true, lines, n);
    }
    free(lines);
    return rc;
}

/* all lists --------------------------------------------------------------- */

static int builds_by_branch(const void *a, const void *b)
{
    const struct build *one = a, *other = b;
    int diff = strcmp(one->labels.product, other->labels.product);

    diff = diff != 0 ? diff : strcmp(one->labels.branch, other->labels.branch);
    if (diff != 0 || one->last != other->last) {
        return diff != 0 ? diff : one->last > other->last ? -1 : 1;
    }
    /* of one second: by numbers in their names, as far as they have some */
    return strverscmp(other->labels.build, one->labels.build);
}

static bool read_build_labels(const FTSENT *entry, struct build_labels *labels)
{
    return decode_build_label(labels->build, entry->fts_name) &&
           labels->build[0] != '\0' &&
           decode_build_label(labels->branch, entry->fts_parent->fts_name) &&
           decode_build_label(labels->product,
                              entry->fts_parent->fts_parent->fts_name);
}

static int add_lists(struct build_lists *lists, const FTSENT *entry)
{
    struct build *builds = lists->builds;
    size_t n = lists->n;

    if (n % 64 == 0) {
        builds = realloc(builds, (n + 64) * sizeof(builds[0]));
        if (builds == NULL) {
            return ENOMEM;
        }
        lists->builds = builds;
    }
    if (read_build_labels(entry, &builds[n].labels)) {
        builds[n].last = entry->fts_statp->st_mtime;
        lists->n++;
    }
    return 0;
}

int build_lists_read(const char *root, struct build_lists *lists)
{
    char path[PATH_MAX], *paths[] = {path, NULL};
    const FTSENT *entry;
    FTS *fts;
    int rc = 0;

    memset(lists, 0, sizeof(*lists));
    snprintf(path, sizeof(path), "%.2000s/" BUILD_LIST_FOLDER, root);
    if (access(path, F_OK) != 0) {
        return errno == ENOENT ? 0 : errno;
    }
    fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (fts == NULL) {
        return errno;
    }
    while (rc == 0 && (entry = fts_read(fts)) != NULL) {
        if (entry->fts_info == FTS_F && entry->fts_level == BUILD_LEVEL) {
            rc = add_lists(lists, entry);
        } else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) {
            rc = entry->fts_errno;
        }
    }
    fts_close(fts);
    if (rc != 0) {
        build_lists_clear(lists);
    } else if (lists->n > 0) {
        qsort(lists->builds, lists->n, sizeof(lists->builds[0]),
              builds_by_branch);
    }
    return rc;
}

void build_lists_clear(struct build_lists *lists)
{
    free(lists->builds);
    memset(lists, 0, sizeof(*lists));
}

/* patterns ----------------------------------------------------------------- */

static bool build_matches_label(const char *pattern, const char *label)
{
    size_t steps = BUILD_MATCH_STEPS;

    return pattern == NULL || glob_matches(pattern, strlen(pattern), label,
                                           strlen(label), &steps);
}

bool build_pattern_matches(const struct build_pattern *pattern,
                           const struct build_labels *labels)
{
    return build_matches_label(pattern->product, labels->product) &&
           build_matches_label(pattern->branch, labels->branch) &&
           build_matches_label(pattern->build, labels->build);
}
