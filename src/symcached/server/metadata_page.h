/*
 * Copyright (C) the ngx_symcache authors
 *
 * GET /v1/metadata?key=KEY&value=VALUE, as clients ask debuginfod, below whose
 * address nginx has it: what is known of files with build ids, as JSON.
 */
#ifndef SYMCACHED_SERVER_METADATA_PAGE_H
#define SYMCACHED_SERVER_METADATA_PAGE_H

struct config;
struct evhttp_request;
struct metadata;

void metadata_page(struct metadata *metadata, const struct config *config,
                   const char *query, struct evhttp_request *req);

#endif
