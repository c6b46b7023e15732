/*
 * Copyright (C) the ngx_symcache authors
 */
#include "warm.h"

#include "config/config.h"
#include "symcached/job/job.h"

static void ignore_answer(void *arg, const struct scheduler_answer *answer)
{
}

void warm_file(struct scheduler *scheduler, const struct debug_place *place,
               bool is_try)
{
    const struct config *config = scheduler_config(scheduler);
    const struct store_config *store;
    symcache_ask_t ask = {0};
    size_t i, j;

    for (i = 0; i < config->nstores; i++) {
        store = &config->stores[i];
        for (j = 0; j < store->ntranscoders &&
                    config_store_has_uploads(store, is_try);
             j++) {
            ask.version = store->transcoders[j].version;
            ask.min = (symcache_version_t){.major = 1};
            if (symcache_key_supported(&place->ids[0])) {
                (void)scheduler_ask(scheduler, store, &place->ids[0],
                                    place->name, &ask, "", "", 0,
                                    ignore_answer, NULL);
            }
        }
    }
}
