/*
 * Copyright (C) the ngx_symcache authors
 *
 * Bodies in memory that other processes can map: files without names.  They
 * are counted, all together.  For all threads.
 */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct spool {
    int fd;
    uint64_t size;
    atomic_uint_least64_t counted; /* of what all may have */
    atomic_uint refs;
};

/* Bytes that all may have. */
void spool_limit(uint64_t most);

/* Bytes that all have. */
uint64_t spool_bytes(void);

/* Makes an empty one, with a reference.  NULL without memory or descriptors. */
struct spool *spool_new(void);

/* The same of a file without a name, which is taken over.  NULL without memory,
 * or room; then the file is closed. */
struct spool *spool_adopt(int fd);

/* Returns 0, or -1: there is no room. */
int spool_write(struct spool *spool, const void *data, size_t size);

/* Counts bytes that another process has of a body, with the body's own.
 * Returns 0, or -1: there is no room. */
int spool_count(struct spool *spool, uint64_t size);

/* Nothing can be written any more, by whomever. */
void spool_seal(struct spool *spool);

struct spool *spool_ref(struct spool *spool);
void spool_unref(struct spool *spool); /* NULL is allowed */

#endif
