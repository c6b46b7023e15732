/*
 * Copyright (C) the ngx_symcache authors
 *
 * Version 2 of the uploads of Mozilla's symbol server, Tecken, as its client
 * upload-symbols sends them, below /v1/uploads/:
 *
 *   POST auth_info      who has a token, and what it may do
 *   POST v2             {"files": [{key, size, md5_hash}]}; the answer says for
 *                       each where it is to be sent, or that it is there
 *   PUT  v2/<session>   a file, in pieces as in a resumable upload of Google's
 *                       storage: 308 and "Range" for all but the last one
 *
 * Sessions are in memory, and what has come of them in files without names: a
 * client begins anew after a restart.
 */
#ifndef SYMCACHED_SERVER_TECKEN_PAGE_H
#define SYMCACHED_SERVER_TECKEN_PAGE_H

#include <stdbool.h>

struct config;
struct evhttp_request;
struct tecken;
struct url_path;

/* Is this one of these pages? */
bool tecken_has(const struct url_path *path, struct evhttp_request *req);

void tecken_page(struct tecken *tecken, const struct config *config,
                 const struct url_path *path, struct evhttp_request *req);

#endif
