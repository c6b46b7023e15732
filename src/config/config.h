/*
 * Copyright (C) the ngx_symcache authors
 *
 * The helper's configuration: one JSON file with comments, which is read into
 * structs that do not change afterwards.  A reload makes a second struct
 * config; running jobs hold a reference to the one that they started with.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "bucket.h"
#include "json_file.h"
#include "layout.h"
#include "location_map.h"
#include "name_pattern.h"
#include "original_format.h"
#include "secret_field.h"
#include "source_config.h"
#include "source_type_keys.h"
#include "store_config.h"
#include "symbolication.h"
#include "tier.h"
#include "transcoder.h"
#include "transport.h"
#include "uploads.h"
#include "warnings.h"
#include "watch.h"

struct limits_config {
    unsigned downloads;
    unsigned transcodes;
    unsigned queue;
    uint64_t download_size;   /* bytes, on the wire and unpacked */
    unsigned download_time;   /* seconds, one file, retries included */
    unsigned connect_time;    /* seconds, one connection */
    unsigned first_byte_time; /* seconds, connecting included */
    unsigned first_byte_patience; /* seconds of silence after which a host is
                                     left alone; 0 = any */
    unsigned search_time;     /* seconds that debuginfod clients wait for a
                                 file to be found; 0 = as others */
    unsigned stall_time;      /* seconds below 1 KiB/s */
    unsigned attempts;        /* tries for one file */
    unsigned downloads_per_host;
    unsigned slow_downloads_per_host; /* in addition to these */
    unsigned breaker_failures; /* in a row; 0 = off */
    unsigned breaker_window;   /* seconds */
    unsigned breaker_pause;    /* seconds */
    unsigned look_ahead_after; /* seconds; 0 = never */
    unsigned transcode_time;   /* seconds */
    uint64_t transcode_memory; /* bytes */
};

struct cache_config {
    unsigned max_unused_for; /* all in seconds */
    unsigned retry_misses_after;
    unsigned retry_malformed_after;
    unsigned retry_errors_after;
    unsigned downloads_max_unused_for;
    unsigned clean_every;
    uint64_t max_size;         /* bytes; 0 = no limit */
    uint64_t downloads_max_size; /* of originals alone; likewise */
    uint64_t total_size; /* with all that is being received; likewise */
    uint64_t min_free;         /* bytes, if min_free_percent is 0 */
    unsigned min_free_percent; /* of the file system */
};

struct config {
    atomic_uint refs;
    char *file;
    uint64_t fingerprint; /* of the bytes of the file */
    const struct source_type *const *types; /* that it was read with */
    char *listen;       /* "unix:/path" or "address:port" */
    char *listen_token; /* secret that requests there need, or NULL */
    char *admin_listen; /* "unix:/path", or NULL */
    char *downloads;
    struct store_config *stores;
    size_t nstores;
    struct source_config *sources;
    size_t nsources;
    struct tier_config *tiers;
    size_t ntiers;
    struct limits_config limits;
    struct cache_config cache;
    struct uploads_config uploads;
    struct symbolication_config symbolication;
};

/*
 * Reads and checks a configuration file.  types are the types that a source
 * may have, and end with NULL.  A program that asks no sources passes types =
 * NULL: then sources and transcoders are skipped, and so are their secrets.
 * Returns 0, and *config has one reference; or -1, and error is "file:line:
 * path.to.key: reason" (cut to size, with a NUL).
 */
int config_read(const char *file, const struct source_type *const *types,
                struct config **config, char *error, size_t size);

struct config *config_ref(struct config *config);
void config_unref(struct config *config);
