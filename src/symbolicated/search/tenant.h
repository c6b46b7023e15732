/*
 * Copyright (C) the ngx_symcache authors
 *
 * A tenant, which has the store of a client's sources and a symcached of its
 * own; see symcached/tenant/tenant.h.
 */
#ifndef SYMBOLICATED_SEARCH_TENANT_H
#define SYMBOLICATED_SEARCH_TENANT_H

#include <stdbool.h>
#include "symbolicated/settings.h"

#define TENANT_ANSWER_MAX 256 /* bytes of an answer of symcached */

struct tenant {
    int root; /* its store, open; -1: there is none */
    struct exchange_address helper;
};

/* One that is not open yet, or as another one is; NULL without memory. */
struct tenant *tenant_new(const struct tenant *other);

/* NULL is allowed. */
void tenant_free(struct tenant *tenant);

/* Asks symcached for the tenant of a text; fn as of exchange_start(), and NULL
 * as there. */
struct exchange *tenant_ask(struct event_base *base,
                            const struct settings *settings, const char *text,
                            size_t size, exchange_fn fn, void *arg);

/* Opens the tenant that the answer names.  Returns false if there is none. */
bool tenant_open(struct tenant *tenant, const struct settings *settings,
                 struct evbuffer *answer);

#endif
