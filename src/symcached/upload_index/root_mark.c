/*
 * Copyright (C) the ngx_symcache authors
 */
#include "root_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "config/config.h"

#define ATTRIBUTE "user.symcached.uploads_root"

static void root_mark_print(char path[PATH_MAX], const char *root)
{
    snprintf(path, PATH_MAX, "%.1024s/" ROOT_MARK, root);
}

static bool root_mark_is_known(const struct config *config)
{
    const char *root = config->uploads.root;
    char known[PATH_MAX];
    ssize_t n = getxattr(config->downloads, ATTRIBUTE, known, sizeof(known));

    return n >= 0 && (size_t)n == strlen(root) &&
           memcmp(known, root, (size_t)n) == 0;
}

void root_mark_make(const struct config *config)
{
    const char *root = config->uploads.root;
    char path[PATH_MAX];
    int fd;

    root_mark_print(path, root);
    fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
              0644);
    if (fd >= 0) {
        (void)setxattr(config->downloads, ATTRIBUTE, root, strlen(root), 0);
        close(fd);
    }
}

int root_mark_check(const struct config *config)
{
    char path[PATH_MAX];
    struct stat st;

    root_mark_print(path, config->uploads.root);
    return !root_mark_is_known(config) || lstat(path, &st) == 0
               ? 0
               : errno;
}
