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

/* The kernel's interface, for C libraries whose headers lack it. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#define CASEFOLD_NO_MAGICLINKS 0x02u
#define CASEFOLD_BENEATH 0x08u

#define CASEFOLD_DEPTH 64 /* components of a path */

struct casefold_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

struct walk {
    int root;
    bool beneath;
    bool any_case;
    size_t len;
    char path[PATH_MAX];
    char rest[PATH_MAX]; /* behind any name */
};

static int casefold_openat(const struct walk *walk, const char *path,
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

bool casefold_absent(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/*
 * A symbolic link without a target does not prove that the file is absent: the
 * target may be on a share that is not mounted.
 */
static int casefold_exists(const struct walk *walk)
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

static int casefold_find(struct walk *walk, const char *rest, unsigned depth);

/* Opens the directory of the path so far; its last component begins at
 * `at`. */
static DIR *casefold_opendir(struct walk *walk, size_t at)
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

/* Which names of a folder are tried, and what is looked for behind them. */
struct tried {
    const char *name; /* every other spelling of it; or NULL: any name */
    size_t len;       /* of the name */
    const char *rest;
    size_t rest_len; /* if any name is tried, it comes once more behind these */
    unsigned depth;
};

static bool is_tried(const struct tried *tried, const char *name)
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
static int casefold_try(struct walk *walk, size_t at,
                        const struct tried *tried)
{
    const struct dirent *entry;
    int rc = -1, error = ENOENT;
    DIR *dir = casefold_opendir(walk, at);

    if (dir == NULL) {
        return -1;
    }
    while (rc != 0 && (errno = 0, entry = readdir(dir)) != NULL) {
        if (!is_tried(tried, entry->d_name)) {
            continue;
        }
        walk->len = at + strlen(entry->d_name);
        memcpy(walk->path + at, entry->d_name, walk->len - at + 1);
        if (tried->name == NULL) {
            snprintf(walk->rest, sizeof(walk->rest), "%.*s%s",
                     (int)tried->rest_len, tried->rest, entry->d_name);
        }
        rc = casefold_find(walk,
                           tried->name == NULL ? walk->rest : tried->rest,
                           tried->depth);
        error = casefold_absent(error) ? errno : error;
        errno = 0;
    }
    error = errno != 0 ? errno : error;
    closedir(dir);
    errno = error;
    return rc;
}

/* Completes the path with rest, "" or "/component/component...". */
static int casefold_find(struct walk *walk, const char *rest, unsigned depth)
{
    size_t at = walk->len, len;
    struct tried tried;
    int error;

    if (*rest == '\0') {
        return casefold_exists(walk);
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
    tried = (struct tried){rest, len, rest + len, 0, depth - 1};
    if (casefold_try(walk, at, &tried) == 0) {
        return 0;
    }
    errno = casefold_absent(error) ? errno : error;
    return -1;
}

int casefold_open(int root, const char *path, bool beneath, bool any_case)
{
    struct walk walk = {.root = root, .beneath = beneath,
                        .any_case = any_case};
    struct tried any = {.rest = path + 1, .depth = CASEFOLD_DEPTH};
    size_t len = strlen(path);
    struct stat st;
    int fd, rc;

    if (len > 4 && strncmp(path, "*/", 2) == 0 &&
        strcmp(path + len - 2, "/*") == 0) {
        any.rest_len = len - 2;
        rc = casefold_try(&walk, 0, &any);
    } else {
        rc = casefold_find(&walk, path, CASEFOLD_DEPTH);
    }
    if (rc != 0) {
        return -1;
    }

    /* With O_NONBLOCK, open() does not wait for somebody to write to a
     * FIFO. */
    fd = casefold_openat(&walk, walk.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }

    return fd;
}

int casefold_has(int root, const char *name, bool any_case)
{
    struct walk walk = {.root = root, .any_case = any_case};

    if (any_case) {
        return casefold_find(&walk, name, 1);
    }
    snprintf(walk.path, sizeof(walk.path), "%s", name);
    return casefold_exists(&walk);
}
