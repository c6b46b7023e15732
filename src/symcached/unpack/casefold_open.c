/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's interface, for headers that lack it. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif

#define TREE_NO_MAGICLINKS 0x02u
#define TREE_BENEATH 0x08u

#define TREE_DEPTH 64 /* components of a path */

struct tree_how {
    uint64_t flags;
    uint64_t mode;
    uint64_t resolve;
};

struct tree {
    int root;
    bool beneath;
    size_t len;
    char path[PATH_MAX];
};

static int tree_openat(const struct tree *tree, const char *path, int flags)
{
    struct tree_how how = {0};

    if (!tree->beneath) {
        return openat(tree->root, path, flags | O_CLOEXEC);
    }

    how.flags = (uint64_t)(flags | O_CLOEXEC);
    how.resolve = TREE_BENEATH | TREE_NO_MAGICLINKS;
    return (int)syscall(SYS_openat2, tree->root, path, &how, sizeof(how));
}

static bool tree_absent(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/*
 * A symbolic link that leads nowhere is no absence: what it stands for may be
 * on a share that is not mounted.
 */
static int tree_exists(const struct tree *tree)
{
    int fd = tree_openat(tree, tree->path, O_PATH), error = errno;

    if (fd < 0 && error == ENOENT) {
        fd = tree_openat(tree, tree->path, O_PATH | O_NOFOLLOW);
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

static int tree_find(struct tree *tree, const char *rest, unsigned depth);

/* Opens the directory of the path so far, whose last component is at `at`. */
static DIR *tree_opendir(struct tree *tree, size_t at)
{
    DIR *dir;
    int fd;

    if (at > 0) {
        tree->path[at - 1] = '\0';
    }
    fd = tree_openat(tree, at > 0 ? tree->path : ".", O_RDONLY | O_DIRECTORY);
    if (at > 0) {
        tree->path[at - 1] = '/';
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

/* Goes on with every other spelling of the last component, name. */
static int tree_respell(struct tree *tree, size_t at, const char *name,
                        size_t len, const char *rest, unsigned depth)
{
    struct dirent *entry;
    int rc = -1, error = ENOENT;
    DIR *dir = tree_opendir(tree, at);

    if (dir == NULL) {
        return -1;
    }

    while (rc != 0 && (errno = 0, entry = readdir(dir)) != NULL) {
        if (strlen(entry->d_name) != len ||
            strncasecmp(entry->d_name, name, len) != 0 ||
            memcmp(entry->d_name, name, len) == 0) {
            continue;
        }

        tree->len = at + len;
        memcpy(tree->path + at, entry->d_name, len);
        tree->path[tree->len] = '\0';
        rc = tree_find(tree, rest, depth);
        error = rc == 0 ? 0 : errno;
        errno = 0;
        if (!tree_absent(error)) {
            break;
        }
    }

    error = errno != 0 ? errno : error;
    closedir(dir);
    errno = error;
    return rc;
}

/* Completes the path with rest, "" or "/component/component...". */
static int tree_find(struct tree *tree, const char *rest, unsigned depth)
{
    size_t at = tree->len, len;

    if (*rest == '\0') {
        return tree_exists(tree);
    }

    rest += *rest == '/';
    len = strcspn(rest, "/");
    if (depth == 0 || at + len + 2 > sizeof(tree->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }

    if (at > 0) {
        tree->path[at++] = '/';
    }
    tree->len = at + len;
    memcpy(tree->path + at, rest, len);
    tree->path[tree->len] = '\0';

    if (tree_exists(tree) == 0 &&
        tree_find(tree, rest + len, depth - 1) == 0) {
        return 0;
    }
    if (!tree_absent(errno)) {
        return -1;
    }

    return tree_respell(tree, at, rest, len, rest + len, depth - 1);
}

int tree_open(int root, const char *path, bool beneath)
{
    struct tree tree = {root, beneath, 0, ""};
    struct stat st;
    int fd;

    if (tree_find(&tree, path, TREE_DEPTH) != 0) {
        return -1;
    }

    /* O_NONBLOCK: not to wait for the writer of a FIFO */
    fd = tree_openat(&tree, tree.path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }

    return fd;
}
