/*
 * Copyright (C) the ngx_symcache authors
 *
 * GET /metrics: counters, and gauges of the moment.
 */
#ifndef SYMCACHED_SERVER_METRICS_PAGE_H
#define SYMCACHED_SERVER_METRICS_PAGE_H

#include <time.h>

struct evhttp_request;
struct ready;
struct scheduler;

/* started is the Unix time of symcached's start. */
void metrics_page(const struct scheduler *scheduler,
                  const struct ready *ready, time_t started,
                  struct evhttp_request *req);

#endif
