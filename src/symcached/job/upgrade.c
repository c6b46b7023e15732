/*
 * Copyright (C) the ngx_symcache authors
 */
#include "upgrade.h"

#include <limits.h>
#include <time.h>

#include "metrics/metrics.h"
#include "same_module_job.h"

/* The most jobs that nobody waits for; a later hit may start what is left. */
#define BACKGROUND_MAX 20

bool upgrade_start(struct scheduler *scheduler,
                   const struct scheduler_lookup *lookup,
                   const struct transcoder_config *transcoder,
                   enum job_purpose purpose, size_t better)
{
    struct job_request request;
    const char *reason;

    if (scheduler->draining ||
        !source_order_has_way(lookup->store, lookup->key,
                              &transcoder->version) ||
        scheduler_find(scheduler, lookup->store, lookup->key) != NULL ||
        same_module_job_find(scheduler, lookup->store, lookup->key) != NULL ||
        via_loops(lookup->via, lookup->store->name)) {
        return false;
    }
    if (scheduler->background >= BACKGROUND_MAX) {
        metrics_add(METRIC_UPGRADE_SKIPPED, 1);
        return false;
    }
    request = (struct job_request){.store = lookup->store,
                                   .transcoder = transcoder,
                                   .key = lookup->key,
                                   .name = lookup->name,
                                   .hints = lookup->hints,
                                   .via = lookup->via,
                                   .purpose = purpose,
                                   .better = better};
    return scheduler_start(scheduler, &request, &reason) != NULL;
}

/* Would our converter write the file better today? */
static bool has_former_builder(const struct provenance *provenance,
                               const struct transcoder_config *transcoder)
{
    return provenance->builder > 0 && provenance->builder < SYMCACHE_BUILDER &&
           transcode_is_ours(transcoder);
}

void upgrade_consider(struct scheduler *scheduler,
                      const struct scheduler_lookup *lookup,
                      const struct decision *decision)
{
    const struct cache_config *cache = &scheduler->config->cache;
    const symcache_key_t *key = lookup->key;
    struct provenance provenance;
    enum job_purpose purpose = JOB_FOR_BETTER;
    time_t now = time(NULL);
    char path[PATH_MAX];
    size_t better;

    if (symcache_kind_is_original((symcache_kind_e)key->kind) ||
        decision->transcoder == NULL ||
        symcache_version_cmp(&decision->transcoder->version,
                             &decision->best) != 0) {
        return;
    }
    store_path(path, lookup->store->root, key, &decision->best,
               SYMCACHE_FILE_PLAIN);
    if (!provenance_read(path, &provenance) ||
        (provenance.checked <= now &&
         now - provenance.checked < (time_t)cache->retry_misses_after)) {
        return;
    }
    if (has_former_builder(&provenance, decision->transcoder) &&
        upgrade_start(scheduler, lookup, decision->transcoder, JOB_FOR_REBUILD,
                      0)) {
        metrics_add(METRIC_JOB_UPGRADE, 1);
        provenance.checked = now;
        provenance_write(path, &provenance);
        return;
    }
    better = provenance_better(&provenance, lookup->store);
    if (provenance.extent == SYMCACHE_EXTENT_PROGRAM &&
        lookup->hints[0] != '\0') {
        purpose = JOB_FOR_DEBUG_FILE;
        better = lookup->store->nsources;
    }
    if (better > 0 && upgrade_start(scheduler, lookup, decision->transcoder,
                                    purpose, better)) {
        metrics_add(METRIC_BETTER_ASKED, 1);
        provenance.checked = now;
        provenance_write(path, &provenance);
    }
}
