/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_order.h"

#include <string.h>

#include "jscache_inputs.h"
#include "symcached/source/layout.h"
#include "source_member.h"
#include "symcached/store/store.h"

#define ORDER_PASSES 2

/* Does a file of version a serve a client that asks for version b? */
static bool serves_version(const symcache_version_t *a,
                           const symcache_version_t *b)
{
    static const symcache_version_t any;

    return symcache_version_serves(a, b, &any);
}

const struct transcoder_config order_original = {.version = {1, 0, 0}};

/*
 * Returns the transcoder that makes of this format the newest version that is
 * not above the target and serves the same clients, or NULL.
 */
static const struct transcoder_config *
best_transcoder(const struct store_config *store, symcache_kind_e kind,
                const symcache_version_t *target, enum original_format format)
{
    const struct transcoder_config *transcoder, *best = NULL;
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        transcoder = &store->transcoders[i];
        if (transcoder->command != NULL && transcoder->makes == kind &&
            (transcoder->inputs & 1u << format) &&
            serves_version(&transcoder->version, target) &&
            symcache_version_cmp(&transcoder->version, target) <= 0 &&
            (best == NULL ||
             symcache_version_cmp(&transcoder->version, &best->version) > 0)) {
            best = transcoder;
        }
    }
    return best;
}

void source_order_rewind(struct source_order *order)
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
    order->absent = 0;
    order->left_out = 0;
    memset(order->variants, 0, sizeof(order->variants));
    order->is_last = false;
    order->is_unsure = false;
    order->pass = 0;
    order->next = 0;
}

/* By time stamp and size, only an image is converted; by the hash of a
 * profiler a symbfile, which has no other id, an ELF file, a PE image or its
 * PDB. */
static unsigned formats_by_id(unsigned formats, const symcache_key_t *key)
{
    if (symcache_kind_is_original((symcache_kind_e)key->kind)) {
        return formats;
    }
    return key->id_type == SYMCACHE_ID_PE ? formats & 1u << FORMAT_PE
           : key->id_type == SYMCACHE_ID_HASH
               ? formats &
                     (1u << FORMAT_SYMBFILE | 1u << FORMAT_SOURCEBUNDLE |
                      1u << FORMAT_ELF | 1u << FORMAT_PE | 1u << FORMAT_PDB)
               : formats & ~(1u << FORMAT_SYMBFILE);
}

void source_order_begin(struct source_order *order,
                        const struct store_config *store,
                        const symcache_key_t *key,
                        const struct transcoder_config *target)
{
    unsigned i;

    order->store = store;
    order->key = key;
    order->target = &target->version;
    order->formats = config_format_originals((symcache_kind_e)key->kind);
    for (i = 0; i < FORMATS; i++) {
        order->transcoders[i] = best_transcoder(
            store, (symcache_kind_e)key->kind, &target->version, i);
        if (order->transcoders[i] != NULL) {
            order->formats |= 1u << i;
        }
    }
    order->formats = formats_by_id(order->formats, key);
    order->end = store->nsources;
    order->debug_files = false;
    source_order_rewind(order);
}

/* The version that a source leads to, or NULL. */
static const symcache_version_t *
offered_version(const struct source_order *order,
                const struct source_config *source)
{
    unsigned formats =
        config_source_key_formats(source, order->key) & order->formats;
    const symcache_version_t *best = NULL;
    const struct transcoder_config *transcoder;
    unsigned i;

    if (config_source_is_ready_made(source, order->key)) {
        return config_source_ready_made(source, order->key);
    }
    for (i = 0; i < FORMATS; i++) {
        transcoder = order->transcoders[i] != NULL ? order->transcoders[i]
                                                   : &order_original;
        if ((formats & 1u << i) &&
            (best == NULL ||
             symcache_version_cmp(&transcoder->version, best) > 0)) {
            best = &transcoder->version;
        }
    }
    return best;
}

/* Does a transcoder make the target of one of these formats? */
static bool has_transcoder(const struct store_config *store,
                           symcache_kind_e kind,
                           const symcache_version_t *target, unsigned formats)
{
    unsigned i;

    for (i = 0; i < FORMATS; i++) {
        if ((formats & 1u << i) &&
            best_transcoder(store, kind, target, i) != NULL) {
            return true;
        }
    }
    return false;
}

bool source_order_has_way(const struct store_config *store,
                          const symcache_key_t *key,
                          const symcache_version_t *target)
{
    symcache_kind_e kind = (symcache_kind_e)key->kind;
    const struct source_config *source;
    const symcache_version_t *version;
    symcache_key_t cache;
    unsigned formats;
    size_t i;

    if (source_member_key(key, &cache) &&
        source_order_has_way(store, &cache, &order_original.version)) {
        return true;
    }
    if (kind_has_inputs(kind)) {
        return best_transcoder(store, kind, target, FORMAT_ANY) != NULL;
    }
    for (i = 0; i < store->nsources; i++) {
        source = store->sources[i];
        formats = formats_by_id(config_source_key_formats(source, key), key);
        version = config_source_ready_made(source, key);
        if (config_source_is_ready_made(source, key)
                ? version != NULL && serves_version(version, target)
                : (formats & config_format_originals(kind)) ||
                      has_transcoder(store, kind, target, formats)) {
            return true;
        }
    }
    return false;
}

static size_t source_at(const struct source_order *order,
                        const struct source_config *source)
{
    size_t i = 0;

    while (i < order->store->nsources && order->store->sources[i] != source) {
        i++;
    }
    return i;
}

/* The bit of a source in order->absent, or 0: there are 64. */
static uint64_t source_bit(const struct source_order *order,
                           const struct source_config *source)
{
    size_t i = source_at(order, source);

    return i < order->store->nsources && i < 64 ? (uint64_t)1 << i : 0;
}

unsigned source_order_variants(struct source_order *order,
                               const struct source_config *source,
                               unsigned had)
{
    size_t i = source_at(order, source);

    if (i >= ORDER_VARIANTS) {
        return 0;
    }
    if (order->is_last) {
        return order->variants[i] | LAYOUT_SET_OTHERS;
    }
    order->variants[i] = (uint8_t)had;
    return had;
}

void source_order_left_out(struct source_order *order,
                           const struct source_config *source)
{
    order->left_out |= source_bit(order, source);
}

void source_order_absent(struct source_order *order,
                         const struct source_config *source)
{
    if (!config_source_is_ready_made(source, order->key)) {
        order->absent |= source_bit(order, source);
    }
}

static bool takes_source(struct source_order *order,
                         const struct source_config *source)
{
    const symcache_version_t *offer = offered_version(order, source);
    int cmp;

    if (order->is_last ? !(order->left_out & source_bit(order, source))
                       : (order->absent & source_bit(order, source)) != 0) {
        return false;
    }
    if (offer == NULL || !serves_version(offer, order->target) ||
        (order->debug_files &&
         config_source_is_ready_made(source, order->key))) {
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

const struct source_config *source_order_next(struct source_order *order)
{
    const struct source_config *source;

    for (; order->pass < ORDER_PASSES; order->pass++) {
        while (order->next < order->end) {
            source = order->store->sources[order->next++];
            if (takes_source(order, source)) {
                if (order->is_last) {
                    order->left_out &= ~source_bit(order, source);
                }
                return source;
            }
        }
        order->next = 0;
    }
    if (order->left_out == 0 || order->is_last || order->is_unsure) {
        return NULL;
    }
    order->is_last = true;
    order->pass = 0;
    return source_order_next(order);
}
