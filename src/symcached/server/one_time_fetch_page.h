/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /v1/fetch: a one-time fetch, whose file is handed over as a descriptor
 * with the first byte of the answer.  So it can be asked for on a Unix socket
 * only.
 */
#ifndef SYMCACHED_SERVER_ONE_TIME_FETCH_PAGE_H
#define SYMCACHED_SERVER_ONE_TIME_FETCH_PAGE_H

#include <event2/event.h>
#include <event2/http.h>

#include "symcached/one_time_fetch/one_time_fetch.h"

/*
 * Takes a request, whose body is {"url": ..., "token": ...}; the token may be
 * missing.  The answer is {"coding": ...} with the file, or {"failed": ...}
 * without.  ended is called at the end if the request was taken over.  once is
 * NULL where that is not allowed.
 */
void one_time_fetch_page_start(struct event_base *base,
                               struct one_time_fetches *once,
                               const struct config *config,
                               struct evhttp_request *req,
                               void (*ended)(void *arg), void *arg);

/* Ends all. */
void one_time_fetch_pages_stop(void);

#endif
