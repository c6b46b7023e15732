/*
 * Copyright (C) the ngx_symcache authors
 *
 * A file of a directory that is used where it is, instead of a copy.
 */
#ifndef SYMCACHED_UNPACK_HERE_H
#define SYMCACHED_UNPACK_HERE_H

#include <limits.h>
#include <stdint.h>
#include <time.h>

struct here {
    const uint8_t *map; /* or NULL: it is to be copied */
    uint64_t size;
    char path[PATH_MAX];
};

/*
 * Maps an open file if it may be used where it is: it lies in a file system of
 * this machine, has max bytes at the most, was not changed since the time
 * `unchanged`, and has its content for a while already.  In a file system of
 * the network it could change without a trace, and a young one may still be
 * written to.
 */
void here_map(struct here *here, int fd, time_t unchanged, uint64_t max);

#endif
