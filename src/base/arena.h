/*
 * Copyright (C) the ngx_symcache authors
 *
 * Memory whose pieces do not move, and are all freed together.
 */
#pragma once

#include <stddef.h>

struct arena {
    struct arena_chunk *chunks; /* the newest first */
    size_t used;                /* bytes of the newest chunk */
};

/*
 * Returns size bytes, aligned for any type, or NULL when out of memory.  An
 * arena that is all zero is an empty one.
 */
void *arena_take(struct arena *arena, size_t size);

/* Frees all pieces, but keeps one chunk for the next ones. */
void arena_reset(struct arena *arena);
void arena_free(struct arena *arena);
