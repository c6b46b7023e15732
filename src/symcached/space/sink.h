/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes unpacked bytes to a descriptor, with a limit.  The limit is a number
 * of bytes and not a ratio, because honest cabinets of mostly empty PDBs
 * exceed any ratio.  The free space of the file system is checked again and
 * again, because other programs write there as well.
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
    uint64_t space; /* bytes that may be written before the next check */
    int error;     /* errno of the first failure; EFBIG = over max */
};

/* Returns 0, or -1 with sink->error set. */
int sink_write(struct sink *sink, const void *data, size_t len);

/*
 * Copies at most len bytes from the offset of `in`, by the kernel.  Where file
 * systems share blocks between files, this writes none.  Returns the number of
 * bytes, or 0 if the kernel does not do it or there is nothing to be copied.
 * Then what is left is to be read and written, which tells of all errors.
 */
size_t sink_copy(struct sink *sink, int in, size_t len);

/* Did it fail because the file system has no room? */
bool sink_is_full(const struct sink *sink);

/* Writes a sentence that explains sink->error. */
void sink_reason(const struct sink *sink, char *text, size_t size);

#endif
