/*
 * Copyright (C) the ngx_symcache authors
 */
#include "total_size.h"

#include "space_request.h"

static struct {
    struct config *config; /* reference */
    uint64_t stored;
    uint64_t lent;
} total;

void total_configure(struct config *config)
{
    config_ref(config);
    if (total.config != NULL) {
        config_unref(total.config);
    }
    total.config = config;
}

void total_stored(uint64_t bytes)
{
    total.stored = bytes;
}

uint64_t total_left(void)
{
    const struct config *config = total.config;
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
    /* What was lent is counted until the process has ended, written or not. */
    used = total.stored + total.lent + under_way.arrived + under_way.claimed;
    most = config->cache.total_size;
    return used < most ? most - used : 0;
}

uint64_t total_lend(void)
{
    uint64_t left = total_left();

    if (left == UINT64_MAX) {
        return 0;
    }
    left = left / 2 + (left < 2);
    total.lent += left;
    return left;
}

void total_give_back(uint64_t bytes)
{
    total.lent -= bytes;
}
