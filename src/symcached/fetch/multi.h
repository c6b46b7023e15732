/*
 * Copyright (C) the ngx_symcache authors
 *
 * Drives libcurl's multi handle with libevent: its sockets, its timer, and a
 * callback for each transfer that has ended.
 */
#ifndef SYMCACHED_FETCH_MULTI_H
#define SYMCACHED_FETCH_MULTI_H

#include <curl/curl.h>

struct event_base;
struct fetcher;
struct hosts;

/* The transfer has ended, and was removed from the multi handle. */
typedef void (*fetcher_done_fn)(void *arg, CURLcode code);

/* What CURLOPT_PRIVATE of each easy handle points to. */
struct fetcher_slot {
    fetcher_done_fn done;
    void *arg;
};

struct event_base *fetcher_base(const struct fetcher *fetcher);
struct hosts *fetcher_hosts(const struct fetcher *fetcher);

/*
 * The transfer is started by the event loop, never from inside.  Returns 0 or
 * -1.
 */
int fetcher_add(struct fetcher *fetcher, CURL *easy);
void fetcher_remove(struct fetcher *fetcher, CURL *easy);

#endif
