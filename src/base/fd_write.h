/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <stddef.h>

/* Writes all bytes to a descriptor that blocks, also where signals interrupt
 * it.  Returns 0, or -1 with errno. */
int fd_write(int fd, const void *data, size_t size);
