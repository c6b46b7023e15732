/*
 * Copyright (C) the ngx_symcache authors
 *
 * A type of source: its name, its keys in the configuration, and how a lookup
 * at it begins.  The types themselves are in the room of lookups, one file
 * each; docs/internals/adding-a-source.md tells how to add one.
 */
#pragma once

#include "field.h"

struct lookup;
struct source_config;
struct transport_config;

/* Keys that several types share; they fill a struct source_config. */
enum source_keys {
    SOURCE_KEYS_PATH = 1 << 0,    /* path, copy */
    SOURCE_KEYS_URL = 1 << 1,     /* url, auth */
    SOURCE_KEYS_LAYOUT = 1 << 2,  /* layout, casing, forms */
    SOURCE_KEYS_MAP = 1 << 3,     /* map */
    SOURCE_KEYS_HTTP = 1 << 4,    /* tls, proxy, http_version, user_agent */
    SOURCE_KEYS_HEADERS = 1 << 5, /* headers */
    SOURCE_KEYS_VERSION = 1 << 6, /* version, ppdbcaches */
    SOURCE_KEYS_VALUE = 1 << 7    /* value */
};

struct source_type {
    const char *name; /* "type" in the configuration; also shown elsewhere */
    unsigned shared;  /* enum source_keys */
    const struct config_field *keys; /* its own; only texts and bools */
    size_t nkeys;
    size_t settings_size; /* of the struct that these fill */
    const char *place;    /* the key that says where the source is */
    bool has_symcaches;   /* has SymCaches instead of originals */
    bool has_urls;        /* has files at URLs (symcache_key_is_url()) */
    bool has_list;        /* is asked which files it has, of any format, and has
                             no layout */
    bool any_case;        /* ignores case when it compares names */
    bool cuts_sections;   /* of debuginfod: a server that gives sections of its
                             files */

    /*
     * Called when the keys have been read; may be NULL.  Refuses keys that
     * contradict each other, and sets url if the type has no such key.
     * Returns 0, or -1 with error set.
     */
    int (*check)(struct config_reader *r, const cJSON *item,
                 struct source_config *source);

    /*
     * For tiers of the same name: has requests signed by the settings that are
     * at `settings`, which must live as long as the transport.  NULL: there are
     * no such tiers.  Returns 0, or -1 with error set.
     */
    int (*sign)(struct config_reader *r, const cJSON *item,
                const void *settings, struct transport_config *transport);

    /* Takes the first step of a lookup; see symcached/source/lookup_steps.h. */
    void (*begin)(struct lookup *lookup);
};

/* A symbol path, which stands for sources of other types. */
extern const struct source_type source_sympath;

/* Returns the type of that name, which may be source_sympath, or NULL. */
const struct source_type *
source_type_find(const struct source_type *const *types, const char *name);

/* Returns a key of a type, shared or its own, or NULL if it has no such key. */
const struct config_field *source_type_key(const struct source_type *type,
                                           const char *key);

/*
 * Finds the type of the source that item describes.  Returns NULL with error
 * set if there is none, or if the source has a key that is not for it.
 */
const struct source_type *source_type_read(struct config_reader *r,
                                           const cJSON *item);

/* Reads all keys of a source, whose type and settings must be set.  Returns 0,
 * or -1 with error set. */
int source_type_fill(struct config_reader *r, const cJSON *item,
                     struct source_config *source);
