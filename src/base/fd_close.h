/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef BASE_FD_CLOSE_H
#define BASE_FD_CLOSE_H

#include <unistd.h>

/* Closes a descriptor that may be -1. */
static inline void fd_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

#endif
