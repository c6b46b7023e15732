/*
 * Copyright (C) the ngx_symcache authors
 *
 * store_publish() and store_keep_original() in a thread of their own, because
 * a disk takes its time to confirm that a file is durable, and the event loop
 * must not wait for that.
 */
#pragma once

#include <stdbool.h>
#include "proto/key.h"
#include "proto/version.h"

struct event_base;

/* result is that of the function, or -1 with errnum. */
typedef void (*publish_done_fn)(void *arg, long long result, int errnum);

/*
 * done is called once, but never from inside this function; the task does not
 * exist any more then.  A disk that does not answer for minutes is an error.
 * Returns NULL with errno on failure.  The file may get its name after
 * task_cancel().
 */
struct task *publish_start(struct event_base *base, const char *root,
                           const symcache_key_t *key,
                           const symcache_version_t *version, const char *file,
                           bool has_digest, publish_done_fn done, void *arg);

/* The same for store_keep_original(). */
struct task *publish_original(struct event_base *base, const char *file,
                              const char *place, publish_done_fn done,
                              void *arg);
