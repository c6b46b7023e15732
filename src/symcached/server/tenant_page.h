/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /v1/tenants: starts the tenant of a client's sources.
 */
#ifndef SYMCACHED_SERVER_TENANT_PAGE_H
#define SYMCACHED_SERVER_TENANT_PAGE_H

#include <event2/http.h>

#include "symcached/guest/guest.h"

/* Answers a request that brings its own sources, even if the client has gone
 * meanwhile.  guests is NULL where clients may not bring any. */
void tenant_page(struct guests *guests, struct evhttp_request *req);

#endif
