/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where symcached looked for a module: its page /v1/why, read for protocols
 * that tell their clients.
 */
#ifndef SYMBOLICATED_ATTEMPTS_H
#define SYMBOLICATED_ATTEMPTS_H

#include "symbolicated/api/api.h"
#include "exchange.h"

#define ATTEMPTS_PAGE_MAX (1024 * 1024) /* one of 64 places has 100 KB */

/* Asks for the page of a key of a store; fn as of exchange_start(), and NULL
 * as there. */
struct exchange *attempts_ask(struct event_base *base,
                              const struct exchange_address *address,
                              const char *store, const symcache_key_t *key,
                              exchange_fn fn, void *arg);

/*
 * Reads the page of a store, which is drained, and puts it behind those of
 * other stores.  A page that is none is left out, and so is NULL.
 */
void attempts_add(struct api_attempts **list, const struct store_config *store,
                  struct evbuffer *page);

/* Frees all of a list, which is empty then. */
void attempts_free(struct api_attempts **list);

#endif
