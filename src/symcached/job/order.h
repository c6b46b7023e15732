/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which source of a store a job asks next.  Sources are asked in the order of
 * the store, once for the version that the job is to make and then for lower
 * ones: a SymCache server gives the version of its configuration, and a PDB
 * gives what the store's transcoder makes of it.
 *
 * Knows nothing of lookups.
 */
#ifndef SYMCACHED_ORDER_H
#define SYMCACHED_ORDER_H

#include <stdbool.h>
#include "config.h"

struct order {
    const struct store_config *store;
    const symcache_key_t *key;
    const symcache_version_t *target;
    const struct transcoder_config *transcoder; /* of PDBs, or NULL */
    bool has_held;
    symcache_version_t held; /* the best on disk that serves the same */
    bool no_pdb;             /* PDBs are not wanted any more */
    bool kept;               /* some could not better what is held */
    unsigned pass;
    size_t next;
    size_t end; /* only the first so many sources are asked */
};

/* All of them must live as long as the order. */
void order_begin(struct order *order, const struct store_config *store,
                 const symcache_key_t *key,
                 const struct transcoder_config *target);

/* NULL when all were given. */
const struct source_config *order_next(struct order *order);

/* Begins anew: what is on disk is looked at again. */
void order_rewind(struct order *order);

#endif
