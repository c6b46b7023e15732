/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where unpacked bytes go: a descriptor with a limit.  The limit is of bytes,
 * not of a ratio, because honest cabinets of mostly empty PDBs exceed every
 * ratio.
 */
#ifndef SYMCACHED_SINK_H
#define SYMCACHED_SINK_H

#include <stddef.h>
#include <stdint.h>

struct sink {
    int fd;
    uint64_t max;
    uint64_t written;
    int error; /* errno of the first failure; EFBIG = over max */
};

/* Returns 0, or -1 with sink->error set. */
int sink_write(struct sink *sink, const void *data, size_t len);

/* A sentence about sink->error. */
void sink_reason(const struct sink *sink, char *text, size_t size);

#endif
