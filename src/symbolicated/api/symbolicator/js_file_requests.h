/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a call of POST /symbolicate-js asks the store for: each file once, in
 * rounds.  Wants live as long as the call.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_JS_FILE_REQUESTS_H
#define SYMBOLICATED_API_SYMBOLICATOR_JS_FILE_REQUESTS_H

#include "js_files.h"

/*
 * Wants the file at a URL: for ever, or of this hour, with the credentials of
 * the source or as a client's.  *since is the hour then.  NULL: it cannot be
 * wanted, or has_failed.
 */
struct js_want *js_file_request_url(struct js_files *files,
                                    struct symc_string url, bool is_hourly,
                                    bool is_scraped, uint64_t *since);

/* The same of the SourceCache of the bundle at a URL, which stays as it is. */
struct js_want *js_file_request_bundle(struct js_files *files,
                                       struct symc_string url);

/* The same of a list of our own uploads (base/artifact_list.h), a SHA-1 in
 * each line, and of the bundle that has one. */
struct js_want *js_file_request_list(struct js_files *files, const char *name);
struct js_want *js_file_request_upload(struct js_files *files,
                                       struct symc_string sum);

/* NULL is not pending, and has no module. */
bool js_file_request_is_pending(const struct js_want *want);
const struct api_module *js_file_request_module(const struct js_want *want);

/* Takes what has become of a want into a file. */
void js_file_request_take(struct js_file *file, const struct js_want *want);

void js_file_requests_free(struct js_files *files);

#endif
