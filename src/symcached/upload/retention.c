/*
 * Copyright (C) the ngx_symcache authors
 */
#include "retention.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include "proto/upload.h"

int retention_set_expires(const char *path, unsigned seconds)
{
    char text[24];
    int n;

    if (seconds == 0) {
        return removexattr(path, SYMCACHE_UPLOAD_EXPIRES) == 0 ||
                       errno == ENODATA || errno == ENOTSUP
                   ? 0
                   : errno;
    }
    n = snprintf(text, sizeof(text), "%lld",
                 (long long)time(NULL) + (long long)seconds);
    return setxattr(path, SYMCACHE_UPLOAD_EXPIRES, text, (size_t)n, 0) == 0
               ? 0
               : errno;
}

int retention_touch(const char *path)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
                                {.tv_nsec = UTIME_OMIT}};

    return utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) == 0 ? 0
                                                                      : errno;
}
