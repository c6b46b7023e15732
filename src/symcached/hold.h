/*
 * Copyright (C) the ngx_symcache authors
 *
 * One lookup request on the socket: read, asked, perhaps held, answered.
 */
#ifndef SYMCACHED_HOLD_H
#define SYMCACHED_HOLD_H

#include <event2/event.h>
#include <event2/http.h>
#include "jobs.h"

struct hold_query {
    symcache_ask_t ask;
    unsigned wait;
};

/*
 * Reads version=, exceeds= and wait=.  Returns NULL, or what is wrong with
 * them.
 */
const char *hold_parse(const char *query, struct hold_query *q);

typedef void (*hold_ended_fn)(void *arg);

/*
 * Answers now or later.  A client that closes its connection meanwhile, or
 * sends more on it, is dropped.  A request that is held may leave evhttp, see
 * parked.h: then ended is called instead of its callbacks.
 */
void hold_start(struct event_base *base, struct jobs *jobs,
                const struct store_config *store, const symcache_key_t *key,
                const char *name, const struct hold_query *q,
                struct evhttp_request *req, hold_ended_fn ended, void *arg);

#endif
