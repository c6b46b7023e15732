/*
 * Copyright (C) the ngx_symcache authors
 *
 * One lookup request on the socket: its query is read, the scheduler asked,
 * and the client answered at once, or when a job has ended or the time that
 * the client waits is over.  Of an uploaded file it may be told where it gets
 * that by itself.
 */
#ifndef SYMCACHED_SERVER_WAITING_LOOKUP_H
#define SYMCACHED_SERVER_WAITING_LOOKUP_H

#include <event2/event.h>
#include <event2/http.h>
#include "proto/hints.h"
#include "symcached/job/job.h"

struct waiting_lookup_query {
    symcache_ask_t ask;
    unsigned wait; /* seconds, 0 = does not wait */
    bool redirects; /* the client may get the file elsewhere */
    char hints[SYMCACHE_HINTS_MAX + 1]; /* see proto/hints.h */
};

/*
 * Reads version=, exceeds=, wait=, redirect=1 and hints.  is_batch: of many
 * lookups, each of which may name its version itself.  Returns NULL, or what is
 * wrong with them.
 */
const char *waiting_lookup_parse(const char *query, bool is_batch,
                                 struct waiting_lookup_query *q);

/*
 * Reads the query of one of many lookups, which may have version=, exceeds= and
 * hints, into what was read of all of them.  NULL counts as an empty query.
 * Returns false for any other, or if no version is named.
 */
bool waiting_lookup_line(const char *query, struct waiting_lookup_query *q);

/* Is the id of the key the hash of the URL among the hints, if there is one? */
bool waiting_lookup_proved(const struct waiting_lookup_query *q,
                           const symcache_key_t *key);

/* Counts an answer of the scheduler.  Returns its status in HTTP. */
int waiting_lookup_status(const struct scheduler_answer *answer);

typedef void (*waiting_lookup_ended_fn)(void *arg);

/*
 * Answers now or later.  A client that closes its connection meanwhile, or
 * sends more on it, is dropped; the job goes on.  A request that waits may
 * leave evhttp, see pending_reply.h: then evhttp calls none of its callbacks
 * for it any more, and ended is called when it is over.
 */
void waiting_lookup_start(struct event_base *base, struct scheduler *scheduler,
                          const struct store_config *store,
                          const symcache_key_t *key, const char *name,
                          const struct waiting_lookup_query *q,
                          struct evhttp_request *req,
                          waiting_lookup_ended_fn ended, void *arg);

#endif
