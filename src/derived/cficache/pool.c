/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void cficache_pool_free(struct cficache_pool *pool)
{
    table_free(&pool->table);
    free(pool->data);
    free(pool->ends);
}

uint32_t cficache_pool_start(const struct cficache_pool *pool, uint32_t number)
{
    return number == 0 ? 0 : pool->ends[number - 1];
}

int cficache_pool_append(struct cficache_pool *pool, const void *data,
                         size_t size, uint32_t *number)
{
    if (pool->count >= INT32_MAX || size > INT32_MAX - pool->size ||
        array_need(&pool->data, &pool->room, pool->size + size, 1) != 0 ||
        array_need(&pool->ends, &pool->end_room, pool->count + 1,
                   sizeof(*pool->ends)) != 0) {
        return -1;
    }
    if (size > 0) {
        memcpy(pool->data + pool->size, data, size);
        pool->size += size;
    }
    pool->ends[pool->count] = (uint32_t)pool->size;
    *number = (uint32_t)pool->count++;
    return 0;
}

int cficache_pool_add(struct cficache_pool *pool, const void *data, size_t size,
                      uint32_t *number)
{
    size_t at = 0;
    uint32_t start;
    uint64_t hash = table_hash((uintptr_t)pool, data, size);
    uintptr_t found;

    while ((found = table_next(&pool->table, hash, &at)) != 0) {
        start = cficache_pool_start(pool, (uint32_t)found - 1);
        if (pool->ends[found - 1] - start == size &&
            memcmp(pool->data + start, data, size) == 0) {
            *number = (uint32_t)found - 1;
            return 0;
        }
    }
    return cficache_pool_append(pool, data, size, number) != 0 ||
                   table_add(&pool->table, hash, *number + (uintptr_t)1) != 0
               ? -1
               : 0;
}
