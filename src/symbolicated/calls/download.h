/*
 * Copyright (C) the ngx_symcache authors
 *
 * A body that symcached fetches and hands over
 * (symcached/one_time_fetch/one_time_fetch.h).
 */
#pragma once

#include "base/spool.h"
#include "symbolicated/search/symcached_client.h"

struct download;

/* The answer: a body, which is taken over, and its Content-Encoding; or NULL,
 * and why there is none.  The download is to be freed, perhaps in it. */
typedef void (*download_fn)(void *arg, struct spool *body, const char *text);

/*
 * fn is not called from inside this function.  Returns NULL without memory, or
 * when symcached cannot be asked: it is not there, or not on a Unix socket.
 */
struct download *download_start(struct event_base *base,
                                const struct symcached_client_address *address,
                                const char *url, const char *token,
                                download_fn fn, void *arg);

void download_free(struct download *download); /* NULL is allowed */
