/*
 * Copyright (C) the ngx_symcache authors
 *
 * store_publish() in a thread of its own: a disk takes its time to say that a
 * file is there for good, and the event loop does not wait for it.
 */
#ifndef SYMCACHED_PUBLISH_H
#define SYMCACHED_PUBLISH_H

#include "proto/symcache_key.h"
#include "proto/symcache_version.h"

struct event_base;
struct publish;

/* size as from store_publish(), or -1 and errnum. */
typedef void (*publish_done_fn)(void *arg, long long size, int errnum);

/*
 * done is called once, never from inside this function; the handle is gone
 * then.  root must live until then; the others are copied.  Returns NULL with
 * errno.
 */
struct publish *publish_start(struct event_base *base, const char *root,
                              const symcache_key_t *key,
                              const symcache_version_t *version,
                              const char *file, publish_done_fn done,
                              void *arg);

/* Waits until the disk has answered; no callback comes afterwards. */
void publish_cancel(struct publish *publish);

#endif
