/*
 * Copyright (C) the ngx_symcache authors
 *
 * libcurl's multi handle driven by libevent: sockets, one timer, and a call
 * for each transfer that ended.
 */
#ifndef SYMCACHED_FETCH_MULTI_H
#define SYMCACHED_FETCH_MULTI_H

#include <curl/curl.h>

struct event_base;
struct fetcher;
struct hosts;

/* A transfer ended; it has been taken out of the multi handle. */
typedef void (*fetcher_done_fn)(void *arg, CURLcode code);

/* What CURLOPT_PRIVATE of each easy handle points to. */
struct fetcher_slot {
    fetcher_done_fn done;
    void *arg;
};

struct event_base *fetcher_base(const struct fetcher *fetcher);
struct hosts *fetcher_hosts(const struct fetcher *fetcher);

/* The transfer begins from the loop, never inside.  Returns 0 or -1. */
int fetcher_add(struct fetcher *fetcher, CURL *easy);
void fetcher_remove(struct fetcher *fetcher, CURL *easy);

#endif
