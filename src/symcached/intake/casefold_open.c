/*
 * Copyright (C) the ngx_symcache authors
 */
#include "casefold_open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd_close.h"
#include "base/utf8.h"

/* The kernel's interface, for C libraries whose headers lack it. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#define CASEFOLD_NO_MAGICLINKS 0x02u
#define CASEFOLD_NO_SYMLINKS 0x04u
#define CASEFOLD_BENEATH 0x08u

#define CASEFOLD_DEPTH 64 /* components of a path */

struct casefold_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

struct casefold_walk {
    int root;
    bool beneath;
    bool any_case;
    struct casefold_unnamed *unnamed; /* the files of the folder that is
                                         looked for; or NULL */
    size_t len;
    char path[PATH_MAX];
};

static int casefold_openat(const struct casefold_walk *walk, const char *path,
                           int flags)
{
    struct casefold_how how = {0};

    if (!walk->beneath) {
        return openat(walk->root, path, flags | O_CLOEXEC);
    }

    how.flags = (uint64_t)(flags | O_CLOEXEC);
    how.resolve = CASEFOLD_BENEATH | CASEFOLD_NO_MAGICLINKS;
    return (int)syscall(SYS_openat2, walk->root, path, &how, sizeof(how));
}

int casefold_open_root(const char *path)
{
    const struct casefold_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = CASEFOLD_NO_SYMLINKS,
    };

    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

bool casefold_absent(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/*
 * A symbolic link without a target does not prove that the file is absent: the
 * target may be on a share that is not mounted.
 */
static int casefold_exists(const struct casefold_walk *walk)
{
    int fd = casefold_openat(walk, walk->path, O_PATH), error = errno;

    if (fd < 0 && error == ENOENT) {
        fd = casefold_openat(walk, walk->path, O_PATH | O_NOFOLLOW);
        if (fd >= 0) {
            close(fd);
            error = ENOLINK;
        }
        errno = error;
        return -1;
    }
    if (fd < 0) {
        return -1;
    }

    close(fd);
    return 0;
}

static int casefold_find(struct casefold_walk *walk, const char *rest,
                         unsigned depth);
static int unnamed_open(const struct casefold_walk *walk);

/* Opens the directory of the path so far; its last component begins at
 * `at`. */
static DIR *casefold_opendir(struct casefold_walk *walk, size_t at)
{
    DIR *dir;
    int fd;

    if (at > 0) {
        walk->path[at - 1] = '\0';
    }
    fd = casefold_openat(walk, at > 0 ? walk->path : ".",
                         O_RDONLY | O_DIRECTORY);
    if (at > 0) {
        walk->path[at - 1] = '/';
    }
    if (fd < 0) {
        return NULL;
    }

    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
    }
    return dir;
}

/* The names of a folder that are tried, and the path to look for below
 * them. */
struct casefold_tried {
    const char *name; /* every other spelling of it; or NULL: any name */
    size_t len;       /* of the name */
    const char *rest;
    unsigned depth;
};

static bool casefold_is_tried(const struct casefold_tried *tried,
                              const char *name)
{
    if (tried->name == NULL) {
        return name[0] != '.';
    }
    return strlen(name) == tried->len &&
           strncasecmp(name, tried->name, tried->len) == 0 &&
           memcmp(name, tried->name, tried->len) != 0;
}

/*
 * Tries names of the folder of the path so far; its last component begins at
 * `at`.  One that cannot be read does not hide another one; it is reported if
 * no other exists.
 */
static int casefold_try(struct casefold_walk *walk, size_t at,
                        const struct casefold_tried *tried)
{
    const struct dirent *entry;
    int rc = -1, error = ENOENT;
    DIR *dir = casefold_opendir(walk, at);

    if (dir == NULL) {
        return -1;
    }
    while (rc != 0 && (errno = 0, entry = readdir(dir)) != NULL) {
        if (!casefold_is_tried(tried, entry->d_name)) {
            continue;
        }
        walk->len = at + strlen(entry->d_name);
        memcpy(walk->path + at, entry->d_name, walk->len - at + 1);
        rc = casefold_find(walk, tried->rest, tried->depth);
        error = casefold_absent(error) ? errno : error;
        errno = 0;
    }
    error = errno != 0 ? errno : error;
    closedir(dir);
    errno = error;
    return rc;
}

/* Completes the path with rest, "" or "/component/component...". */
static int casefold_find(struct casefold_walk *walk, const char *rest,
                         unsigned depth)
{
    size_t at = walk->len, len;
    struct casefold_tried tried;
    int error;

    if (*rest == '\0') {
        return walk->unnamed != NULL ? unnamed_open(walk)
                                     : casefold_exists(walk);
    }

    rest += *rest == '/';
    len = strcspn(rest, "/");
    if (depth == 0 || at + len + 2 > sizeof(walk->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }

    if (at > 0) {
        walk->path[at++] = '/';
    }
    walk->len = at + len;
    memcpy(walk->path + at, rest, len);
    walk->path[walk->len] = '\0';

    if (casefold_exists(walk) == 0 &&
        casefold_find(walk, rest + len, depth - 1) == 0) {
        return 0;
    }

    error = errno;
    if (!walk->any_case) {
        return -1;
    }
    tried = (struct casefold_tried){rest, len, rest + len, depth - 1};
    if (casefold_try(walk, at, &tried) == 0) {
        return 0;
    }
    errno = casefold_absent(error) ? errno : error;
    return -1;
}

/* Opens the file of a path that exists. */
static int casefold_open_found(const struct casefold_walk *walk)
{
    struct stat st;
    int fd;

    /* With O_NONBLOCK, open() does not wait for a writer of a FIFO. */
    fd = casefold_openat(walk, walk->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return -1;
    }
    errno = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        errno = errno != 0 ? errno : EINVAL;
        fd_close(fd);
        return -1;
    }

    return fd;
}

int casefold_open(int root, const char *path, bool beneath, bool any_case)
{
    struct casefold_walk walk = {
        .root = root, .beneath = beneath, .any_case = any_case};

    return casefold_find(&walk, path, CASEFOLD_DEPTH) == 0
               ? casefold_open_found(&walk)
               : -1;
}

int casefold_has(int root, const char *name, bool any_case)
{
    struct casefold_walk walk = {.root = root, .any_case = any_case};

    if (any_case) {
        return casefold_find(&walk, name, 1);
    }
    snprintf(walk.path, sizeof(walk.path), "%s", name);
    return casefold_exists(&walk);
}

/* files whose name is not known ------------------------------------------- */

struct casefold_unnamed {
    const char *const *paths;
    size_t n;
    int *fds;
    int *errors;
};

/* Bytes of the first two of the components any name, folder, file; or 0. */
static size_t casefold_unnamed_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strncmp(path, "*/", 2) == 0 && slash > path + 2
               ? (size_t)(slash - path)
               : 0;
}

size_t casefold_count_unnamed(const char *const *paths, size_t n)
{
    size_t len = n > 0 ? casefold_unnamed_folder(paths[0]) : 0, i = 0;

    if (len > 0) {
        for (i = 1; i < n && casefold_unnamed_folder(paths[i]) == len &&
                    memcmp(paths[i], paths[0], len) == 0;
             i++) {
        }
    }
    return i;
}

/* Opens one of the files in the folder of the path so far, whose first
 * component is the name. */
static int unnamed_open_one(const struct casefold_walk *walk, const char *file)
{
    struct casefold_walk found = *walk;
    char name[PATH_MAX]; /* one that is cut off is too long for a path */

    snprintf(name, sizeof(name), "%s", file);
    if (file[0] == '*') {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(walk->path, "/"),
                 walk->path);
        if (file[1] == '_') {
            utf8_replace_last(name, '_');
        }
    }
    found.unnamed = NULL;
    return casefold_find(&found, name, CASEFOLD_DEPTH) == 0
               ? casefold_open_found(&found)
               : -1;
}

/* Opens those that have not been found in another folder.  Fails as long as
 * the first one is not open, which is the best. */
static int unnamed_open(const struct casefold_walk *walk)
{
    const struct casefold_unnamed *unnamed = walk->unnamed;
    size_t i;

    for (i = 0; i < unnamed->n; i++) {
        if (unnamed->fds[i] >= 0) {
            continue;
        }
        unnamed->fds[i] = unnamed_open_one(
            walk, strrchr(unnamed->paths[i], '/') + 1);
        if (casefold_absent(unnamed->errors[i])) {
            unnamed->errors[i] = errno;
        }
    }
    errno = ENOENT;
    return unnamed->fds[0] >= 0 ? 0 : -1;
}

void casefold_open_unnamed(int root, const char *const *paths, size_t n,
                           bool beneath, int *fds, int *errors)
{
    struct casefold_unnamed unnamed = {paths, n, fds, errors};
    struct casefold_walk walk = {.root = root,
                                 .beneath = beneath,
                                 .any_case = true,
                                 .unnamed = &unnamed};
    char folder[PATH_MAX];
    struct casefold_tried any = {.rest = folder, .depth = CASEFOLD_DEPTH};
    size_t i;

    snprintf(folder, sizeof(folder), "%.*s",
             (int)(casefold_unnamed_folder(paths[0]) - 1), paths[0] + 1);
    for (i = 0; i < n; i++) {
        fds[i] = -1;
        errors[i] = ENOENT;
    }
    if (casefold_try(&walk, 0, &any) == 0) {
        return;
    }
    for (i = 0; i < n; i++) {
        if (casefold_absent(errors[i])) {
            errors[i] = errno;
        }
    }
}
