/*
 * Copyright (C) the ngx_symcache authors
 *
 * The work of a call: a worker reads its body, and is given files of the
 * modules that were found for it.
 */
#pragma once

#include "symbolicated/search/search.h"
#include "worker_pool/worker_pool.h"

struct body;

/*
 * For a call with a work.  told is called when the call's work has news.  The
 * worker may report up to most bytes.  helper is asked for a body that is
 * elsewhere.  protocol is for the log, and static.  Returns NULL without
 * memory, or if there is no helper.
 */
struct body *body_work_start(struct event_base *base, struct work_pool *pool,
                             const struct symcached_client_address *address,
                             struct api_call *call, const char *protocol,
                             size_t most, void (*told)(void *arg), void *arg);

/* Gives it files, of modules of the rounds of a search and those before; NULL:
 * there is none. */
void body_work_give(struct body *body, const struct search *search);

/* Ends it if it has not.  NULL is allowed. */
void body_work_free(struct body *body);
