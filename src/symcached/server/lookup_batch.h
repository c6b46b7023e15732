/*
 * Copyright (C) the ngx_symcache authors
 *
 * Many lookups in one request.  Its body has the path of a lookup in each
 * line, /v1/<kind>/<store>/<name>/<id>; the answer has a line for each of
 * them, as soon as it is known:
 *
 *   <number of the line, from 0> <status> <seconds>[ <reason>]
 *
 * with the status, X-Symcache-Valid or Retry-After, and X-Symcache-Reason that
 * the lookup alone would get.
 */
#pragma once

#include "url_path.h"
#include "single_lookup.h"

/* Finds the scheduler of the store in a path. */
typedef struct scheduler *(*lookup_scheduler_fn)(void *arg,
                                                 const struct url_path *path);

/*
 * Answers all lookups of a request, which share their query.  As in
 * single_lookup_start(), a client that goes away or sends more is dropped,
 * and ended is called when a request that has left evhttp is over.  Both
 * functions are called with arg.
 */
void lookup_batch_start(struct event_base *base, lookup_scheduler_fn find,
                        const struct lookup_query *q,
                        struct evhttp_request *req,
                        single_lookup_ended_fn ended, void *arg);
