/*
 * Copyright (C) the ngx_symcache authors
 *
 * Memory whose pieces stay where they are until all are given up at once.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_chunk *chunks; /* the newest first */
    size_t used;                /* in the newest */
};

/* Starts from all zero.  Returns size bytes, or NULL without memory. */
void *arena_take(struct arena *arena, size_t size);

/* Gives up everything; one chunk is kept for what comes. */
void arena_reset(struct arena *arena);
void arena_free(struct arena *arena);

#endif
