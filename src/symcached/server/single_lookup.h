/*
 * Copyright (C) the ngx_symcache authors
 *
 * One lookup request on the socket: the scheduler is asked, and the client
 * answered at once, or when a job has ended or the time that
 * the client waits is over.  Of an uploaded file it may be told where it gets
 * that by itself.
 */
#pragma once

#include <event2/event.h>
#include <event2/http.h>
#include "symcached/job/job.h"
#include "lookup_query.h"

/* Counts an answer of the scheduler.  Returns its status in HTTP. */
int single_lookup_status(const struct scheduler_answer *answer);

typedef void (*single_lookup_ended_fn)(void *arg);

/*
 * Answers now or later.  A client that closes its connection meanwhile, or
 * sends more on it, is dropped; the job goes on.  A request that waits may
 * leave evhttp, see pending_reply.h: then evhttp calls none of its callbacks
 * for it any more, and ended is called when it is over.
 */
void single_lookup_start(struct event_base *base, struct scheduler *scheduler,
                         const struct store_config *store,
                         const symcache_key_t *key, const char *name,
                         const struct lookup_query *q,
                         struct evhttp_request *req,
                         single_lookup_ended_fn ended, void *arg);
