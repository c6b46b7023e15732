/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where unpacked bytes go: a descriptor with a limit.  The limit is of bytes,
 * not of a ratio, because honest cabinets of mostly empty PDBs exceed every
 * ratio.  What is free on the file system is looked at all the time: others
 * write there, too.
 */
#ifndef SYMCACHED_SPACE_SINK_H
#define SYMCACHED_SPACE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink {
    int fd;
    uint64_t max;
    uint64_t keep; /* bytes that stay free on the file system */
    uint64_t written;
    uint64_t space; /* of what was free, until it is looked at again */
    int error;     /* errno of the first failure; EFBIG = over max */
};

/* Returns 0, or -1 with sink->error set. */
int sink_write(struct sink *sink, const void *data, size_t len);

/* Failed because there is no room on the file system? */
bool sink_is_full(const struct sink *sink);

/* A sentence about sink->error. */
void sink_reason(const struct sink *sink, char *text, size_t size);

#endif
