/*
 * Copyright (C) the ngx_symcache authors
 *
 * store_publish() in a thread of its own: a disk takes its time to say that a
 * file is there for good, and the event loop does not wait for it.
 */
#ifndef SYMCACHED_STORE_PUBLISH_H
#define SYMCACHED_STORE_PUBLISH_H

#include "proto/key.h"
#include "proto/version.h"

struct event_base;
struct publish;

/* size as from store_publish(), or -1 and errnum. */
typedef void (*publish_done_fn)(void *arg, long long size, int errnum);

/*
 * done is called once, never from inside this function; the handle is gone
 * then.  A disk that does not answer for minutes is an error.  Returns NULL
 * with errno.
 */
struct publish *publish_start(struct event_base *base, const char *root,
                              const symcache_key_t *key,
                              const symcache_version_t *version,
                              const char *file, publish_done_fn done,
                              void *arg);

/* No callback comes afterwards; the disk may still do it. */
void publish_cancel(struct publish *publish);

#endif
