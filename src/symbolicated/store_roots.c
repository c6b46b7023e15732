/*
 * Copyright (C) the ngx_symcache authors
 */
#include "store_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ROOTS_MAX 1024

/* Written by the main thread, before there are others. */
static struct {
    char *paths[ROOTS_MAX];
    int fds[ROOTS_MAX];
    size_t n;
} open_roots;

static atomic_bool is_lost;

int store_root_open(const char *path, const char *whose, bool locked,
                    char *error, size_t size)
{
    size_t i, n = open_roots.n;

    for (i = 0; i < n; i++) {
        if (strcmp(open_roots.paths[i], path) == 0) {
            return open_roots.fds[i];
        }
    }
    if (locked) {
        snprintf(error, size,
                 "the folder of %s was not open at the start: this needs a "
                 "restart",
                 whose);
        return -1;
    }
    errno = EMFILE;
    if (n < ROOTS_MAX) {
        open_roots.paths[n] = strdup(path);
        open_roots.fds[n] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (open_roots.paths[n] != NULL && open_roots.fds[n] != -1) {
            return open_roots.fds[open_roots.n++];
        }
    }
    snprintf(error, size, "cannot open \"%s\" of %s: %s%s", path, whose,
             strerror(errno),
             errno == ENOENT ? "; symcached makes this folder when it starts: "
                               "start symcached first, or make the folder"
                             : "");
    return -1;
}

size_t store_roots_list(const int **roots)
{
    *roots = open_roots.fds;
    return open_roots.n;
}

bool directory_is_replaced(int fd, const char *path)
{
    struct stat opened, now;

    return fstat(fd, &opened) == 0 && stat(path, &now) == 0 &&
           S_ISDIR(now.st_mode) &&
           (now.st_dev != opened.st_dev || now.st_ino != opened.st_ino);
}

void store_root_check(int root)
{
    size_t i;

    for (i = 0; i < open_roots.n; i++) {
        if (open_roots.fds[i] == root &&
            directory_is_replaced(root, open_roots.paths[i])) {
            atomic_store(&is_lost, true);
        }
    }
}

bool store_root_is_lost(void)
{
    return atomic_load(&is_lost);
}
