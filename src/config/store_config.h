/*
 * Copyright (C) the ngx_symcache authors
 *
 * The section "stores" of the configuration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "field.h"

struct config;
struct source_config;

struct store_config {
    char *name;
    char *root;
    struct transcoder_config *transcoders; /* at most one command per input,
                                              kind and major version */
    size_t ntranscoders;
    struct source_config **sources; /* the best first; not owned */
    size_t nsources;
    char **source_names; /* as written: one may stand for several sources */
    size_t nsource_names;
    bool gzip;                /* gzip files are made */
    struct tier_config *tier; /* not owned; or NULL */
    uint64_t fingerprint;     /* source_fingerprint_store() */
};

/* Reads the section into the reader's config, whose sources must be known.
 * Returns 0, or -1 with error set. */
int config_stores(struct config_reader *r, const cJSON *item);

/* Frees the members of the struct. */
void config_store_clear(struct store_config *store);

/* Returns the store of a name, or NULL if there is none. */
const struct store_config *config_store(const struct config *config,
                                        const char *name, size_t len);

/*
 * Returns whether a source of the store is ever asked: it has SymCaches, or a
 * transcoder takes the format of its originals.
 */
bool config_store_asks(const struct store_config *store,
                       const struct source_config *source);

/*
 * Returns why nothing can be made for a store, or NULL if something can.  A
 * store for which nothing can be made still serves the files that it has.
 */
const char *config_store_idle(const struct store_config *store);
