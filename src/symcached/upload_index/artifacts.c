/*
 * Copyright (C) the ngx_symcache authors
 */
#include "artifacts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "base/fd_write.h"
#include "base/workdir.h"

/* Entries of a folder that are looked at: the newest ones.  There is space for
 * as many again, so that the others are not sorted out one by one. */
#define ENTRIES_MAX 10000
#define ENTRIES_SPACE (2 * ENTRIES_MAX)

/* Returns 0, or an errno. */
static int artifacts_note_bundle(const char *root, const char *folder,
                                 const char *sum)
{
    char path[PATH_MAX];
    int fd = -1, tries;

    for (tries = 0; tries < 2 && fd < 0; tries++) {
        snprintf(path, sizeof(path), "%.2000s/" ARTIFACTS_FOLDER "/%s", root,
                 folder);
        if (workdir_make_path(path) != 0) {
            return errno;
        }
        snprintf(path, sizeof(path), "%.2000s/" ARTIFACTS_FOLDER "/%s/%s",
                 root, folder, sum);
        fd = open(path,
                  O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                  0644);
        if (fd < 0 && errno != ENOENT) { /* ENOENT: artifacts_clean() */
            break;
        }
    }
    if (fd < 0) {
        return errno;
    }
    close(fd);
    (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    return 0;
}

int artifacts_note(const char *root, const char *sum, const char *lists)
{
    int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char folder[ARTIFACT_LIST_SIZE];
    const char *line = lists;
    size_t len;
    int rc = dir < 0 ? errno : 0;

    while (*line != '\0' && rc == 0) {
        len = strcspn(line, "\n");
        snprintf(folder, sizeof(folder), "%.*s", (int)len, line);
        rc = artifacts_note_bundle(root, folder, sum);
        line += len + (line[len] == '\n');
    }
    /* one call for a thousand entries; without them nobody finds the bundle */
    if (rc == 0 && syncfs(dir) != 0) {
        rc = errno;
    }
    fd_close(dir);
    return rc;
}

int artifacts_name_release(const char *root, const char *release,
                           const char *dist)
{
    char path[PATH_MAX], list[ARTIFACT_LIST_SIZE], text[1024];
    int fd, n, rc;

    dist = dist != NULL ? dist : "";
    artifact_list_of_release(list, release, strlen(release), dist,
                             strlen(dist));
    snprintf(path, sizeof(path), "%.2000s/" ARTIFACTS_FOLDER "/%s", root,
             list);
    if (workdir_make_path(path) != 0) {
        return errno;
    }
    snprintf(path, sizeof(path),
             "%.2000s/" ARTIFACTS_FOLDER "/%s/" ARTIFACTS_RELEASE, root, list);
    /* a list has the same text each time, so that none is cut first: a full
     * disk loses nothing, and who reads it meanwhile finds all of it */
    fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) {
        return errno;
    }
    n = snprintf(text, sizeof(text), "%.500s\n%.500s\n", release, dist);
    rc = fd_write(fd, text, (size_t)n) == 0 ? 0 : errno;
    close(fd);
    return rc;
}

static bool has_bundle(const char *root, const char *sum)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path),
             "%.2000s/" SYMCACHE_NAME_NONE "/hash-%.40s/" ARTIFACTS_FILE, root,
             sum);
    return access(path, R_OK) == 0;
}

/* cleaning ---------------------------------------------------------------- */

/* What cannot be seen may be there: an entry that goes does not come back. */
static bool artifact_is_gone(const char *root, const char *sum)
{
    return !has_bundle(root, sum) && (errno == ENOENT || errno == ENOTDIR);
}

static void clean_artifacts(const char *root, const char *path)
{
    const struct dirent *item;
    DIR *dir = opendir(path);
    size_t n = 0;

    while (dir != NULL && (item = readdir(dir)) != NULL) {
        n += item->d_name[0] != '.';
        if (strlen(item->d_name) == ARTIFACTS_SUM &&
            artifact_is_gone(root, item->d_name) &&
            unlinkat(dirfd(dir), item->d_name, 0) == 0) {
            n--;
        }
    }
    if (dir != NULL) {
        if (n == 0) {
            (void)unlinkat(dirfd(dir), ARTIFACTS_RELEASE, 0);
        }
        closedir(dir);
        (void)rmdir(path); /* if it is empty */
    }
}

void artifacts_clean(const char *root)
{
    const struct dirent *item;
    char path[PATH_MAX];
    DIR *dir;

    snprintf(path, sizeof(path), "%.2000s/" ARTIFACTS_FOLDER, root);
    dir = opendir(path);
    while (dir != NULL && (item = readdir(dir)) != NULL) {
        if (item->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%.2000s/" ARTIFACTS_FOLDER "/%s",
                     root, item->d_name);
            clean_artifacts(root, path);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

/* finding ----------------------------------------------------------------- */

struct artifacts_entry {
    char sum[ARTIFACTS_SUM + 1];
    struct timespec changed;
};

static bool artifact_is_newer(const struct timespec *a,
                              const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec
                                  : a->tv_nsec > b->tv_nsec;
}

static int compare_artifacts(const void *a, const void *b)
{
    const struct timespec *x = &((const struct artifacts_entry *)a)->changed;
    const struct timespec *y = &((const struct artifacts_entry *)b)->changed;

    return artifact_is_newer(y, x) - artifact_is_newer(x, y);
}

/* Sorts the entries, the newest first, and returns how many of them count. */
static size_t keep_newest_artifacts(struct artifacts_entry *entries, size_t n)
{
    if (n > 0) {
        qsort(entries, n, sizeof(entries[0]), compare_artifacts);
    }
    return n < ENTRIES_MAX ? n : ENTRIES_MAX;
}

/* Reads a folder, the newest entries first; one that is not there has nothing.
 * Returns NULL with errno. */
static struct artifacts_entry *artifacts_read(const char *path, size_t *n)
{
    struct artifacts_entry *entries = malloc(ENTRIES_SPACE * sizeof(*entries));
    DIR *dir = entries != NULL ? opendir(path) : NULL;
    const struct dirent *item;
    struct stat st;
    int errnum = 0;

    *n = 0;
    if (dir == NULL && entries != NULL && errno != ENOENT) {
        errnum = errno;
        free(entries);
        errno = errnum;
        return NULL;
    }
    while (dir != NULL && (errno = 0, item = readdir(dir)) != NULL) {
        if (*n == ENTRIES_SPACE) {
            *n = keep_newest_artifacts(entries, *n);
        }
        if (strlen(item->d_name) == ARTIFACTS_SUM &&
            fstatat(dirfd(dir), item->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            memcpy(entries[*n].sum, item->d_name, ARTIFACTS_SUM + 1);
            entries[*n].changed = st.st_mtim;
            ++*n;
        }
    }
    if (dir != NULL) {
        errnum = errno;
        closedir(dir);
    }
    if (errnum != 0) {
        free(entries);
        errno = errnum;
        return NULL;
    }
    if (entries != NULL) {
        *n = keep_newest_artifacts(entries, *n);
    }
    return entries;
}

int artifacts_find(const char *root, const char *folder,
                   struct artifacts_found *found)
{
    char path[PATH_MAX];
    struct artifacts_entry *entries;
    size_t n, i;

    found->n = 0;
    snprintf(path, sizeof(path), "%.2000s/" ARTIFACTS_FOLDER "/%s", root,
             folder);
    entries = artifacts_read(path, &n);
    if (entries == NULL) {
        return errno;
    }
    for (i = 0; i < n && found->n < ARTIFACTS_FOUND; i++) {
        if (has_bundle(root, entries[i].sum)) {
            found->noted[found->n] = entries[i].changed;
            memcpy(found->sums[found->n++], entries[i].sum, ARTIFACTS_SUM + 1);
        }
    }
    free(entries);
    return 0;
}

/* in the tier ------------------------------------------------------------- */

#define LAST 9999999999999999LL
#define DIGITS 16

void artifacts_print_shared(char *name, size_t size,
                            const struct timespec *noted, const char *sum)
{
    long long us = (long long)noted->tv_sec * 1000000 + noted->tv_nsec / 1000;

    snprintf(name, size, "%0*lld-%s", DIGITS, LAST - us, sum);
}

/* Takes out the entry of a sum that is there, if it is an older one.  Returns
 * false if it is a newer one. */
static bool make_way(struct artifacts_found *found, const char *sum,
                     const struct timespec *noted)
{
    size_t i;

    for (i = 0; i < found->n && strcmp(found->sums[i], sum) != 0; i++) {
    }
    if (i < found->n && !artifact_is_newer(noted, &found->noted[i])) {
        return false;
    }
    if (i < found->n) {
        found->n--;
        memmove(found->sums[i], found->sums[i + 1],
                (found->n - i) * sizeof(found->sums[0]));
        memmove(&found->noted[i], &found->noted[i + 1],
                (found->n - i) * sizeof(found->noted[0]));
    }
    return true;
}

bool artifacts_take_shared(struct artifacts_found *found, const char *name)
{
    const char *sum = name + DIGITS + 1;
    struct timespec noted;
    long long us;
    size_t i;

    if (strspn(name, "0123456789") != DIGITS || name[DIGITS] != '-' ||
        strspn(sum, "0123456789abcdef") != ARTIFACTS_SUM ||
        sum[ARTIFACTS_SUM] != '\0') {
        return false;
    }
    us = LAST - strtoll(name, NULL, 10);
    noted = (struct timespec){.tv_sec = (time_t)(us / 1000000),
                              .tv_nsec = (long)(us % 1000000 * 1000)};
    if (!make_way(found, sum, &noted)) {
        return true;
    }
    for (i = 0; i < found->n && artifact_is_newer(&found->noted[i], &noted);
         i++) {
    }
    if (i == ARTIFACTS_FOUND) {
        return true;
    }
    found->n -= found->n == ARTIFACTS_FOUND;
    memmove(found->sums[i + 1], found->sums[i],
            (found->n - i) * sizeof(found->sums[0]));
    memmove(&found->noted[i + 1], &found->noted[i],
            (found->n - i) * sizeof(found->noted[0]));
    memcpy(found->sums[i], sum, ARTIFACTS_SUM + 1);
    found->noted[i] = noted;
    found->n++;
    return true;
}

int artifacts_by_debug_id(const char *root, const char *debug_id,
                          struct artifacts_found *found)
{
    char folder[ARTIFACT_LIST_SIZE];

    found->n = 0;
    return artifact_list_of_id(folder, debug_id)
               ? artifacts_find(root, folder, found)
               : 0;
}

int artifacts_by_release(const char *root, const char *release,
                         const char *dist, struct artifacts_found *found)
{
    char folder[ARTIFACT_LIST_SIZE];

    artifact_list_of_release(folder, release, strlen(release), dist,
                             dist != NULL ? strlen(dist) : 0);
    return artifacts_find(root, folder, found);
}
