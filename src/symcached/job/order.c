/*
 * Copyright (C) the ngx_symcache authors
 */
#include "order.h"

#include "symcached/store/store.h"

#define ORDER_PASSES 2

/* Does a file of version a serve a client that asks for version b? */
static bool serves(const symcache_version_t *a, const symcache_version_t *b)
{
    static const symcache_version_t any;

    return symcache_version_serves(a, b, &any);
}

/*
 * Returns the transcoder that makes of this format the newest version that is
 * not above the target and serves the same clients, or NULL.
 */
static const struct transcoder_config *
best_transcoder(const struct store_config *store,
                const symcache_version_t *target, enum original_format format)
{
    const struct transcoder_config *t, *best = NULL;
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        t = &store->transcoders[i];
        if (t->command != NULL && (t->inputs & 1u << format) &&
            serves(&t->version, target) &&
            symcache_version_cmp(&t->version, target) <= 0 &&
            (best == NULL ||
             symcache_version_cmp(&t->version, &best->version) > 0)) {
            best = t;
        }
    }
    return best;
}

void order_rewind(struct order *order)
{
    static const symcache_version_t any;
    symcache_version_t versions[STORE_VERSIONS_MAX];
    int i, n;

    n = store_versions(order->store->root, order->key, versions);
    i = symcache_version_best(versions, n > 0 ? n : 0, order->target, &any);
    order->has_on_disk = i >= 0;
    if (i >= 0) {
        order->on_disk = versions[i];
    }
    order->not_newer = false;
    order->pass = 0;
    order->next = 0;
}

void order_begin(struct order *order, const struct store_config *store,
                 const symcache_key_t *key,
                 const struct transcoder_config *target)
{
    unsigned i;

    order->store = store;
    order->key = key;
    order->target = &target->version;
    for (i = 0; i < FORMATS; i++) {
        order->transcoders[i] = best_transcoder(store, &target->version, i);
    }
    order->end = store->nsources;
    order_rewind(order);
}

/* The version that a source leads to, or NULL. */
static const symcache_version_t *offered(const struct order *order,
                                         const struct source_config *source)
{
    const struct transcoder_config *t;

    if (source->type->has_symcaches) {
        return &source->version;
    }
    t = order->transcoders[config_layout_format(source->layout)];
    return t != NULL ? &t->version : NULL;
}

bool order_has_way(const struct store_config *store,
                   const symcache_version_t *target)
{
    const struct source_config *source;
    size_t i;

    for (i = 0; i < store->nsources; i++) {
        source = store->sources[i];
        if (source->type->has_symcaches
                ? serves(&source->version, target)
                : best_transcoder(store, target,
                                  config_layout_format(source->layout)) !=
                      NULL) {
            return true;
        }
    }
    return false;
}

static bool takes(struct order *order, const struct source_config *source)
{
    const symcache_version_t *offer = offered(order, source);
    int cmp;

    if (offer == NULL || !serves(offer, order->target)) {
        return false;
    }

    cmp = symcache_version_cmp(offer, order->target);
    if (order->pass == 0 ? cmp != 0 : cmp >= 0) {
        return false;
    }
    if (!config_source_serves(source, order->key)) {
        return false;
    }
    if (cmp < 0 && order->has_on_disk &&
        symcache_version_cmp(offer, &order->on_disk) <= 0) {
        order->not_newer = true;
        return false;
    }
    return true;
}

const struct source_config *order_next(struct order *order)
{
    const struct source_config *source;

    for (; order->pass < ORDER_PASSES; order->pass++) {
        while (order->next < order->end) {
            source = order->store->sources[order->next++];
            if (takes(order, source)) {
                return source;
            }
        }
        order->next = 0;
    }
    return NULL;
}
