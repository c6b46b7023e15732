/*
 * Copyright (C) the ngx_symcache authors
 *
 * A tenant: the stores of a client's sources, in the order of its list, which
 * the guest helper has; see symcached/guest/guest.h.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include "proto/hints.h"
#include "symbolicated/settings.h"

#define TENANT_ANSWER_MAX 8192 /* bytes of an answer of the helper */

/* As many as a client's sources, and bits of a set. */
#define TENANT_STORES_MAX 64

/* Nobody changes one. */
struct tenant {
    atomic_uint refs;
    size_t nstores;
    const char *names[TENANT_STORES_MAX];
    int roots[TENANT_STORES_MAX];           /* of the stores, open */
    int numbers[TENANT_STORES_MAX]; /* of these, for module_cache_find() */
    const char *sources[TENANT_STORES_MAX]; /* their names, each after "," */
    char *texts;
};

struct tenant *tenant_ref(struct tenant *tenant); /* NULL is allowed */
void tenant_unref(struct tenant *tenant);         /* likewise */

/* Asks the helper for the tenant of a text; fn as of symcached_client_start(),
 * and NULL as there. */
struct symcached_client *tenant_ask(struct event_base *base,
                                    const struct settings *settings,
                                    const char *text, size_t size,
                                    exchange_fn fn, void *arg);

/* Opens the tenant that the answer names.  Returns NULL if there is none. */
struct tenant *tenant_open(const struct settings *settings,
                           struct evbuffer *answer);

/*
 * The hints for a store: of the sources that are asked
 * (SYMCACHE_HINT_SOURCES), only its own.  Clients with other lists so ask a
 * public store in the same words.  Returns false if the store is not asked.
 */
bool tenant_hints(const struct tenant *tenant, size_t store, const char *hints,
                  char own[SYMCACHE_HINTS_MAX + 1]);
