/*
 * Copyright (C) the ngx_symcache authors
 *
 * The section "uploads" of the configuration, and the sources that it makes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_list.h"

#include "field.h"

struct source_config;
struct store_config;

/* A client that may upload. */
struct upload_token {
    char *token;   /* secret, without "-" */
    char *user;    /* for the log and the answer */
    bool only_try; /* may not upload what is not a try build */
};

/* The names of the sources that "uploads" makes, and its folders below
 * root. */
#define UPLOADS_SOURCE "uploads"
#define UPLOADS_SOURCE_TRY "uploads-try"
#define UPLOADS_TRY ".try"

/* Bundles of scripts are files _/hash-<SHA-1>/_.artifacts there. */
#define UPLOADS_BUNDLE_SUM 20 /* bytes */
#define UPLOADS_BUNDLE_END ".artifacts"

#define UPLOADS_INDEX                                                         \
    ".index" /* their ids, see symcached/upload_index/upload_index.h */
#define UPLOADS_SPOOL ".spool"

/* How long builds of uploads are kept, of those that a pattern matches. */
struct uploads_keep {
    struct build_pattern pattern; /* without a build */
    unsigned builds;              /* the last ones of each branch; 0 = all */
    unsigned max_age; /* seconds since the last upload of it; 0 = any */
};

/* Original files that clients send. */
struct uploads_config {
    char *root;   /* the files, as in a symbol store; NULL: there are none */
    char *spool;  /* where nginx puts the bodies of requests */
    char *listen; /* "unix:/path" of a socket for uploads alone, or NULL */
    struct upload_token *tokens;
    size_t ntokens;
    bool needs_token;         /* otherwise nginx knows who may upload */
    bool replace;             /* may a zip replace what is there? */
    uint64_t max_size;        /* bytes of all files of a request, unpacked */
    unsigned max_unused_for;  /* seconds; 0 = for ever */
    unsigned try_max_age;     /* seconds, of files of try builds */
    unsigned parts_kept;      /* seconds, of parts of symbfiles */
    struct tier_config *tier; /* of the stores that have them; or NULL */
    char **peers; /* address:port or unix:/path of other machines' sockets */
    size_t npeers;
    struct uploads_keep *keep; /* the first one that matches a build counts */
    size_t nkeep;
};

/* A config_read_fn that fills a struct uploads_config. */
config_read_fn config_uploads;

/*
 * Adds the sources that the section stands for to the reader's config.  To be
 * called when both sections have been read; item is this one, or NULL.
 * Returns 0, or -1 with error set.
 */
int config_uploads_sources(struct config_reader *r, const cJSON *item);

/*
 * Finds the tier of uploads, when the stores have been read; item as above.
 * Returns 0, or -1 with error set.
 */
int config_uploads_tier(struct config_reader *r, const cJSON *item);

/* Moves the sources of uploads of a store before all others. */
void config_uploads_first(struct store_config *store);

/* Wipes and frees the members of the struct. */
void config_uploads_clear(struct uploads_config *uploads);

/* Returns whether a store has uploads, of try builds or of others, among its
 * sources. */
bool config_source_is_uploads(const struct source_config *source);
bool config_store_has_uploads(const struct store_config *store, bool is_try);
