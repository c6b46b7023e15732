/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a type of source is: its name, the keys that it has in the
 * configuration, and how a lookup in it begins.  The types themselves stand
 * in the room of lookups, one file each; docs/internals/adding-a-source.md
 * tells how to add one.
 */
#ifndef CONFIG_SOURCE_TYPE_H
#define CONFIG_SOURCE_TYPE_H

#include "field.h"

struct lookup;
struct source_config;

/* Keys that several types share; they fill a struct source_config. */
enum source_keys {
    SOURCE_KEYS_PATH = 1 << 0,    /* path */
    SOURCE_KEYS_URL = 1 << 1,     /* url, auth */
    SOURCE_KEYS_LAYOUT = 1 << 2,  /* layout, casing, forms */
    SOURCE_KEYS_MAP = 1 << 3,     /* map */
    SOURCE_KEYS_HTTP = 1 << 4,    /* tls, proxy, http_version, user_agent */
    SOURCE_KEYS_HEADERS = 1 << 5, /* headers */
    SOURCE_KEYS_VERSION = 1 << 6, /* version */
    SOURCE_KEYS_VALUE = 1 << 7    /* value */
};

struct source_type {
    const char *name; /* "type" in the configuration, and where it is shown */
    unsigned shared;  /* enum source_keys */
    const struct config_field *keys; /* its own, with texts and bools only */
    size_t nkeys;
    size_t settings_size; /* of the struct that these fill */
    const char *place;    /* the key that says where the source is */
    bool has_symcaches;   /* and no originals */
    bool any_case;        /* names are compared without case */

    /*
     * After the keys were read: refuses what they cannot say together, and
     * sets url if that is none of the keys.  Returns 0, or -1 with error set.
     * May be NULL.
     */
    int (*check)(struct config_reader *r, const cJSON *item,
                 struct source_config *source);

    /* Takes the first step of a lookup; see symcached/source/steps.h. */
    void (*begin)(struct lookup *lookup);
};

/* A symbol path, which stands for sources of other types. */
extern const struct source_type source_sympath;

/* NULL if there is none of that name; a symbol path is one, too. */
const struct source_type *
source_type_find(const struct source_type *const *types, const char *name);

/* A key of a type, shared or its own; NULL if it has none of that name. */
const struct config_field *source_type_key(const struct source_type *type,
                                           const char *key);

/*
 * Finds the type of the source that item describes.  Returns NULL with error
 * set if there is none, or if the source has a key that is not for it.
 */
const struct source_type *source_type_read(struct config_reader *r,
                                           const cJSON *item);

/* Reads all keys of a source, which has its type and its settings. */
int source_type_fill(struct config_reader *r, const cJSON *item,
                     struct source_config *source);

#endif
