/*
 * Copyright (C) the ngx_symcache authors
 *
 * The tiers of the configuration, and the one of a store.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bucket.h"
#include "field.h"
#include "transport.h"

struct config;

enum tier_kind { TIER_S3, TIER_GCS, TIER_FILESYSTEM, TIER_SYMCACHE };

/*
 * Storage shared by several machines, asked after the disk of each, see
 * symcached/tier/tier.h.
 */
struct tier_config {
    char *name;
    enum tier_kind kind;
    struct bucket_config bucket; /* s3, gcs */
    char *url;  /* s3, gcs, symcache: without a slash at its end */
    char *path; /* filesystem */
    struct transport_config transport;
    char *generation;    /* the first part of each name */
    unsigned lifetime;   /* seconds; 0: objects are never refreshed */
    uint64_t max_object; /* bytes of a file that is stored or taken */
    uint64_t part_size;  /* s3, gcs: what is larger is stored in such parts */
    char *mac_key;       /* secret, or NULL */
    char *written;       /* how the file has it, as JSON; may have secrets */
    bool read_only;
    /* s3: clients may get uploaded files there by a URL that is good for so
     * many seconds, below the other URL; or 0 */
    unsigned redirect;
    char *redirect_endpoint; /* as the bucket's endpoint, or NULL */
    char *redirect_url;
};

/* Readers as of field.h, for "tiers" and for the "tier" of a store, which is a
 * struct tier_config *.  Both do nothing where sources are not read. */
config_read_fn config_tiers;
config_read_fn config_store_tier;

/* Bytes of one PUT at Amazon. */
#define CONFIG_TIER_OBJECT_MAX (5ull * 1024 * 1024 * 1024)

void config_tier_clear(struct tier_config *tier);

/* Returns the tier of that name, or NULL. */
struct tier_config *config_tier(const struct config *config, const char *name);

const char *config_tier_kind(enum tier_kind kind);
