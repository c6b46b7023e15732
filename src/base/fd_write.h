/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef BASE_FD_WRITE_H
#define BASE_FD_WRITE_H

#include <stddef.h>

/* Writes all bytes to a descriptor that blocks, also where signals interrupt
 * it.  Returns 0, or -1 with errno. */
int fd_write(int fd, const void *data, size_t size);

#endif
