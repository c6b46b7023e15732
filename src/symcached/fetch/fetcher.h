/*
 * Copyright (C) the ngx_symcache authors
 *
 * Drives libcurl's multi handles with libevent: their sockets, their timers,
 * and a callback for each transfer that has ended.
 *
 * A kept connection carries more than an address: the rule by which that was
 * judged, a client certificate, a proxy, and the user that the server has
 * authenticated on it.  So connections are kept in pools, a multi handle each,
 * and a pool serves only transfers that have all of this in common.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include "config/config.h"

struct fetcher;

/* The transfer has ended, and was removed from the multi handle. */
typedef void (*fetcher_done_fn)(void *arg, CURLcode code);

/* The target of CURLOPT_PRIVATE of each easy handle. */
struct fetcher_slot {
    fetcher_done_fn done;
    void *arg;
    struct fetcher_pool *pool; /* set by fetcher_add() */
};

struct event_base *fetcher_base(const struct fetcher *fetcher);

/*
 * Starts a transfer from the event loop, never from inside.  It uses
 * connections only of transfers with the same transport and the same
 * credentials: whether it goes to the source's own origin and gets what is for
 * that alone.  Returns 0, or -1 when out of memory.
 */
int fetcher_add(struct fetcher *fetcher, CURL *easy, struct fetcher_slot *slot,
                const struct transport_config *transport, bool credentials);

/*
 * Takes all transfers of this one's pool on from the loop.  The libcurl of
 * Debian 12 does not go on by itself after an address that was refused in
 * CURLOPT_OPENSOCKETFUNCTION, but when the next of its timers is over.  So it
 * is after one that did not answer, which fetcher.c sees to.
 */
void fetcher_go_on(struct fetcher_slot *slot);

/*
 * The transfer has ended as nothing came in time: no other one will use its
 * connection.  libcurl goes on to use that, if it is one of HTTP/2.
 */
void fetcher_was_silent(struct fetcher_slot *slot);

/* Ends a transfer that has not ended. */
void fetcher_remove(struct fetcher_slot *slot, CURL *easy);
