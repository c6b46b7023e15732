/*
 * Copyright (C) the ngx_symcache authors
 *
 * Pieces of bytes, of which equal ones are stored once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"

/* Must be all zero at the beginning. */
struct cficache_pool {
    struct table table; /* number + 1 */
    uint8_t *data;
    size_t size;
    size_t room;
    uint32_t *ends; /* of the pieces, in data */
    size_t count;
    size_t end_room;
};

void cficache_pool_free(struct cficache_pool *pool);

/* Adds a piece without a search for an equal one.  Returns 0, or -1 when out of
 * memory or numbers. */
int cficache_pool_append(struct cficache_pool *pool, const void *data,
                         size_t size, uint32_t *number);

/* Finds the number of a piece, or adds it. */
int cficache_pool_add(struct cficache_pool *pool, const void *data, size_t size,
                      uint32_t *number);

/* Returns where a piece begins. */
uint32_t cficache_pool_start(const struct cficache_pool *pool, uint32_t number);
