/*
 * Copyright (C) the ngx_symcache authors
 *
 * The "sources" object of the configuration.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/key.h"
#include "proto/version.h"

#include "field.h"
#include "layout.h"
#include "location_map.h"
#include "name_pattern.h"
#include "source_type_keys.h"
#include "transport.h"

struct source_config {
    char *name;
    char *group; /* the symbol path that it is a part of; or NULL */
    const struct source_type *type;
    void *settings; /* filled from the type's own keys */
    enum source_layout layout;
    enum source_casing casing;
    enum layout_form forms[LAYOUT_FORMS]; /* in the order to ask for them */
    size_t nforms;                        /* 0 = all */
    char *path;                           /* filesystem: absolute directory */
    bool copies; /* filesystem: its files are copied and never used in place */
    struct tier_config *tier; /* of uploads: what path may lack; or NULL */
    const char *tier_path;    /* and where that is there, below "uploads/" */
    char *url;    /* base URL, no trailing slash; NULL: filesystem */
    char *origin; /* of url or path, for limits; see origin.h */
    symcache_version_t version;    /* symcache: the version to ask for */
    bool ppdbcaches;               /* symcache: it has PpdbCaches, too */
    struct patterns_config only;   /* none = every name */
    struct patterns_config except; /* wins over only */
    struct patterns_config paths;  /* "<name>/<id>" of files of which nothing
                                      else is known; none = the usual ones */
    struct transport_config transport;
    bool is_scraper; /* its headers are for URLs that a client names directly,
                        and for no others */
    struct map_config *map; /* Windows locations in file.ptr */
    size_t nmap;
    uint64_t fingerprint; /* source_fingerprint_source() */
};

/* A config_read_fn that fills the sources of the reader's config. */
config_read_fn config_sources;

/*
 * Adds a source that another section stands for.  item describes it as in
 * "sources", but is no part of the file; group may be NULL.  Returns 0, or -1
 * with error set.
 */
int config_source_add(struct config_reader *r, const cJSON *item,
                      const char *name, const char *group);

/* Frees the members of the struct. */
void config_source_clear(struct source_config *source);

/* Returns false if "only" or "except" exclude the key's name from a source. */
bool config_source_serves(const struct source_config *source,
                          const symcache_key_t *key);

/* Returns the version that a SymCache server is asked for of files of this
 * kind, or NULL if it is not asked for them. */
const symcache_version_t *
config_source_version(const struct source_config *source,
                      symcache_kind_e kind);

/* Returns whether the files that a source has for a key are published as they
 * are: those of a SymCache server, and files at URLs. */
bool config_source_is_ready_made(const struct source_config *source,
                                 const symcache_key_t *key);

/* Returns the version of the file that a source has ready-made for a key, or
 * NULL if it has no such files. */
const symcache_version_t *
config_source_ready_made(const struct source_config *source,
                         const symcache_key_t *key);
