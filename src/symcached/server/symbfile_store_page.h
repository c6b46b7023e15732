/*
 * Copyright (C) the ngx_symcache authors
 *
 * Symbfiles that were uploaded, as Elastic's symbol store has them for its
 * clients.  ID is a file id, and A and B are its first two and next two
 * characters:
 *
 *   GET /v1/symbfiles/A/B/ID/metadata.json
 *   GET /v1/symbfiles/A/B/ID/ranges            the symbfile, packed with zstd
 */
#ifndef SYMCACHED_SERVER_SYMBFILE_STORE_PAGE_H
#define SYMCACHED_SERVER_SYMBFILE_STORE_PAGE_H

struct config;
struct event_base;
struct evhttp_request;
struct url_path;

/* Answers for files of the uploads, now or when one has been packed. */
void symbfile_store_page(struct event_base *base, const struct config *config,
                         const struct url_path *target,
                         struct evhttp_request *req);

#endif
