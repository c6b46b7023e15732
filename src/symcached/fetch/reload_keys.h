/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the keys of a bucket again, in a thread, when a store says that they
 * have expired: "@file" may name a file that somebody renews.
 */
#ifndef SYMCACHED_FETCH_RELOAD_KEYS_H
#define SYMCACHED_FETCH_RELOAD_KEYS_H

#include "config/config.h"

struct event_base;
struct task;

/* error is NULL, or why they could not be read.  Whether they are others now,
 * transport->renewals tells. */
typedef void (*reload_keys_done_fn)(void *arg, const char *error);

/*
 * transport must live until done, which is called once and never from inside.
 * Returns NULL with errno; task_cancel() ends it.
 */
struct task *reload_keys_start(struct event_base *base,
                               struct transport_config *transport,
                               reload_keys_done_fn done, void *arg);

#endif
