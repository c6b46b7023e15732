/*
 * Copyright (C) the ngx_symcache authors
 *
 * The files that a call of POST /symbolicate-js needs: where they are looked
 * for, and what has become of each.
 *
 * A step of the call is taken anew from its beginning with each round.  What
 * is known then are the wants, which live as long as the call: files at URLs
 * and JsCaches that were asked for.  All else is found out again, so that
 * nothing is kept of a file that was cut short meanwhile.
 */
#pragma once

#include "base/arena.h"
#include "base/hash_table.h"
#include "js_request.h"
#include "proto/hints.h"
#include "symbolicated/api/api.h"

enum js_file_state { JS_FILE_PENDING, JS_FILE_FOUND, JS_FILE_MISSING };

/* A place that was asked for a file; for clients that want the attempts. */
struct js_asked {
    struct js_asked *next;
    const char *what;          /* "list", "bundle", "entry", "file" or "web" */
    struct symc_string key;    /* what it was asked for */
    struct symc_string bundle; /* in which an entry was looked for */
    const char *answer;
    const struct api_module *module; /* whose attempts tell more; or NULL */
};

struct js_want; /* a file of the store, wanted once */

struct js_file {
    enum js_file_state state;
    struct js_asked *asked;      /* the first one; or NULL */
    struct js_asked *last_asked; /* if there is one */
    bool is_disabled; /* MISSING: it may not be fetched from the web */
    bool is_unknown;  /* MISSING: our uploads could not be asked for it */
    struct symc_string text;      /* FOUND */
    struct symc_string reference; /* to its map, by a header; or absent */
    struct symc_string uri;       /* or that of its bundle */
    bool is_bundled; /* the reference is what the bundle says; or absent */
    const char *resolved_with;
    const uint8_t *digest;      /* of the text, SHA-256; or NULL */
    symcache_hint_file_t place; /* where it lies in the store */
    struct js_want *want;       /* FOUND: of a file of its own; or NULL */
};

/* A file that was asked for with a URL. */
struct js_attempt {
    struct js_attempt *next;
    struct symc_string url;
    const char *reason; /* NULL: it was not attempted, or is_success */
    const char *details; /* or NULL */
    bool is_success;
};

struct js_bundle;

struct js_files {
    const struct js_request *request;
    bool has_source;   /* the request's source is asked, not our uploads */
    bool has_scraping; /* files may be fetched from the web */
    bool tells_why;    /* what was asked is noted */
    uint64_t now;      /* seconds since 1970, as the call began */
    size_t most;       /* bytes of an answer */
    struct js_want *wants;
    struct table wants_by_key;
    struct table urls; /* that were wanted */
    struct arena arena; /* of a step; what follows is, too */
    struct table entries;   /* files that were looked for, by URL */
    struct table artifacts; /* by their names */
    struct table data_urls; /* that were read, by their addresses */
    struct js_bundle *bundles; /* of lists; or NULL */
    size_t nbundles;
    bool are_bundles_pending;
    size_t listed;          /* bytes of lists */
    const char *left_out;   /* what lists have too much of; or NULL */
    struct js_attempt *attempts; /* the last one first */
    size_t told;                 /* bytes of the texts of frames */
    bool has_failed;             /* no memory */
};

/* A step begins. */
void js_files_begin(struct js_files *files);

/*
 * Looks for a file of a type: by URL, or if its data is NULL by debug id
 * alone, which may be "".  Nothing is pending of what has another state.
 */
const struct js_file *js_files_find(struct js_files *files,
                                    enum sourcecache_type type,
                                    struct symc_string url,
                                    const char *debug_id);

void js_files_free(struct js_files *files);

/* Notes a place, if attempts are wanted. answer can be NULL: the module's
 * state gives the result then. */
void js_files_note(struct js_files *files, struct js_file *file,
                   const struct js_asked *asked);

/* For the files beside this one.  js_files_take() gives zeroed memory of the
 * step, or NULL; clients choose texts, so the seed of js_hash() is an address.
 */
void *js_files_take(struct js_files *files, size_t size);
bool js_is_equal(struct symc_string a, struct symc_string b);
int js_compare(struct symc_string a, struct symc_string b);
uint64_t js_hash(const struct js_files *files, struct symc_string text);
void js_table_add(struct js_files *files, struct table *table, uint64_t hash,
                  const void *value);
