/*
 * Copyright (C) the ngx_symcache authors
 */
#include "total_size.h"

#include <stdlib.h>

#include "base/hash_table.h"
#include "space_request.h"

struct total_size {
    struct config *config; /* reference */
    uint64_t stored;
    uint64_t lent;
};

static struct total_size own;
static struct table others; /* by the address of the cache */

static uint64_t total_hash(const struct cache_config *cache)
{
    return table_hash_number(&others, (uintptr_t)cache);
}

static struct total_size *total_of(const struct cache_config *cache)
{
    size_t at = 0;
    struct total_size *total =
        (struct total_size *)table_next(&others, total_hash(cache), &at);

    return total != NULL ? total : &own;
}

void total_configure(struct config *config)
{
    config_ref(config);
    config_unref(own.config);
    own.config = config;
}

int total_add(struct config *config)
{
    struct total_size *total = calloc(1, sizeof(*total));

    if (total == NULL || table_add(&others, total_hash(&config->cache),
                                   (uintptr_t)total) != 0) {
        free(total);
        return -1;
    }
    total->config = config_ref(config);
    return 0;
}

void total_remove(const struct config *config)
{
    struct total_size *total = total_of(&config->cache);

    if (total != &own) {
        table_remove(&others, total_hash(&config->cache), (uintptr_t)total);
        config_unref(total->config);
        free(total);
    }
}

void total_stored(const struct cache_config *cache, uint64_t bytes)
{
    total_of(cache)->stored = bytes;
}

uint64_t total_left(const struct cache_config *cache)
{
    const struct total_size *total = total_of(cache);
    const struct config *config = total->config;
    struct space_usage under_way = {0};
    uint64_t used, most;
    size_t i;

    if (config == NULL || config->cache.total_size == 0) {
        return UINT64_MAX;
    }
    space_request_look(config->downloads, &under_way);
    for (i = 0; i < config->nstores; i++) {
        space_request_look(config->stores[i].root, &under_way);
    }
    /* Lent bytes are counted until the process has ended, written or not. */
    used = total->stored + total->lent + under_way.arrived + under_way.claimed;
    most = config->cache.total_size;
    return used < most ? most - used : 0;
}

uint64_t total_lend(const struct cache_config *cache)
{
    uint64_t left = total_left(cache);

    if (left == UINT64_MAX) {
        return 0;
    }
    left = left / 2 + (left < 2);
    total_of(cache)->lent += left;
    return left;
}

void total_give_back(const struct cache_config *cache, uint64_t bytes)
{
    total_of(cache)->lent -= bytes;
}
