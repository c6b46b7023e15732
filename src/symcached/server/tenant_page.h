/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /v1/tenants: starts the tenant of a client's sources.
 */
#ifndef SYMCACHED_SERVER_TENANT_PAGE_H
#define SYMCACHED_SERVER_TENANT_PAGE_H

#include <event2/http.h>

#include "symcached/guest/guest.h"

/* A client that goes away meanwhile is answered all the same.  tenants is NULL
 * where they are not allowed. */
void tenant_page(struct guests *guests, struct evhttp_request *req);

#endif
