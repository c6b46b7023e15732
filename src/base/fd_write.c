/*
 * Copyright (C) the ngx_symcache authors
 */
#include "fd_write.h"

#include <errno.h>
#include <unistd.h>

int fd_write(int fd, const void *data, size_t size)
{
    const char *p = data;
    ssize_t n;

    while (size > 0) {
        n = write(fd, p, size);
        if (n < 0 && errno != EINTR) {
            return -1;
        }
        p += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}
