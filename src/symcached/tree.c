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

static int tree_exists(const struct tree *tree)
{
    int fd = tree_openat(tree, tree->path, O_PATH);

    if (fd < 0) {
        return -1;
    }

    close(fd);
    return 0;
}

/*
 * Looks in the directory of the path so far for its last component, which
 * begins at `at`, and puts the spelling found in its place.
 */
static int tree_respell(struct tree *tree, size_t at)
{
    char *name = tree->path + at;
    struct dirent *entry;
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
        return -1;
    }

    dir = fdopendir(fd);
    if (dir == NULL) {
        close(fd);
        return -1;
    }

    do {
        errno = 0;
        entry = readdir(dir);
    } while (entry != NULL && strcasecmp(entry->d_name, name) != 0);

    if (entry != NULL) {
        /* the same length: only letters differ */
        memcpy(name, entry->d_name, strlen(name));
        closedir(dir);
        return 0;
    }

    fd = errno != 0 ? errno : ENOENT;
    closedir(dir);
    errno = fd;
    return -1;
}

static int tree_append(struct tree *tree, const char *name, size_t len)
{
    size_t at = tree->len;

    if (at + len + 2 > sizeof(tree->path)) {
        errno = ENAMETOOLONG;
        return -1;
    }

    if (at > 0) {
        tree->path[at++] = '/';
    }
    memcpy(tree->path + at, name, len);
    tree->len = at + len;
    tree->path[tree->len] = '\0';

    if (tree_exists(tree) == 0) {
        return 0;
    }
    return errno == ENOENT ? tree_respell(tree, at) : -1;
}

int tree_open(int root, const char *path, bool beneath)
{
    struct tree tree = {root, beneath, 0, ""};
    struct stat st;
    size_t len;
    int fd;

    for (;;) {
        len = strcspn(path, "/");
        if (tree_append(&tree, path, len) != 0) {
            return -1;
        }
        if (path[len] == '\0') {
            break;
        }
        path += len + 1;
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
