/*
 * Copyright (C) the ngx_symcache authors
 *
 * The files of stores that a call of POST /symbolicate-js wants, each once: a
 * want lives as long as the call, and is asked for in its next round.
 */
#pragma once

#include "js_files.h"

/*
 * Wants the file at a URL: for ever, or of this hour, with the credentials of
 * the source or as a client's.  *since is the hour then.  NULL: it cannot be
 * wanted, or has_failed.
 */
struct js_want *js_want_url(struct js_files *files, struct symc_string url,
                            bool is_hourly, bool is_scraped, uint64_t *since);

/* The same of the SourceCache of the bundle at a URL, which stays as it is. */
struct js_want *js_want_bundle(struct js_files *files, struct symc_string url);

/* The same of a list of our own uploads (base/artifact_list.h), a SHA-1 in
 * each line, and of the bundle that has one. */
struct js_want *js_want_list(struct js_files *files, const char *name);
struct js_want *js_want_upload(struct js_files *files, struct symc_string sum);

/* NULL is not pending, and has no module. */
bool js_want_is_pending(const struct js_want *want);
const struct api_module *js_want_module(const struct js_want *want);

/* Takes what has become of a want into a file. */
void js_want_take(struct js_file *file, struct js_want *want);

/* What the comments of a file refer to (symbolication/js/script_comments.h),
 * but for a "data:" URL that cannot be read; absent in an entry of a bundle. A
 * file is read once in a call, however many scripts it is. */
struct js_comments {
    struct symc_string map;
    struct symc_string debug_id;
};

const struct js_comments *js_want_comments(struct js_files *files,
                                           const struct js_file *file);

/* The same; is its text UTF-8? */
bool js_want_is_utf8(const struct js_file *file);

/* Is a "data:" URL one that can be read?  Each is read once in a step. */
bool js_want_reads_data(struct js_files *files, struct symc_string url);

/* The JsCache of a script and its map, or of a script alone (NULL), which have
 * been found.  NULL: it is pending, or has_failed. */
const struct api_module *js_want_cache(struct js_files *files,
                                       const struct js_file *script,
                                       const struct js_file *map);

/* Adds a round to the call of what is pending.  Returns false if nothing is,
 * or without memory. */
bool js_wants_round(struct js_files *files, struct api_call *call);

void js_wants_free(struct js_files *files);
