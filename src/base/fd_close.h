/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <errno.h>
#include <unistd.h>

/* Closes a descriptor that may be -1, and leaves errno as it is. */
static inline void fd_close(int fd)
{
    int saved = errno;

    if (fd >= 0) {
        close(fd);
        errno = saved;
    }
}
