/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the keys of a bucket again, in a thread, when a store refuses them:
 * "@file" may name a file that another program renews.
 */
#ifndef SYMCACHED_FETCH_RELOAD_KEYS_H
#define SYMCACHED_FETCH_RELOAD_KEYS_H

#include <stdbool.h>
#include "config/config.h"

struct event_base;
struct task;

/* Does a store refuse keys, perhaps because they were renewed?  code is the
 * <Code> of its answer. */
bool reload_keys_help(const struct transport_config *transport,
                      const char *code);

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
