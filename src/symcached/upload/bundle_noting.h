/*
 * Copyright (C) the ngx_symcache authors
 *
 * Run after a bundle of scripts was stored: the ids by which it is found are
 * noted in the index, and stores drop the lists that it belongs to.
 */
#ifndef SYMCACHED_UPLOAD_BUNDLE_NOTING_H
#define SYMCACHED_UPLOAD_BUNDLE_NOTING_H

#include <stdbool.h>

struct bundle_noting;
struct event_base;
struct scheduler;

/* All texts are copied; debug ids are lines, and the last three may be NULL.
 */
struct bundle_note {
    const char *root; /* of uploads */
    const char *sum;  /* the SHA-1, in hex digits */
    const char *debug_ids;
    const char *release;
    const char *dist;
    bool is_try;
};

/* failure: a sentence, or NULL. */
typedef void (*bundle_noted_fn)(void *arg, const char *failure);

/* noted is called once, never from inside.  Returns NULL when out of memory.
 */
struct bundle_noting *bundle_noting_start(struct event_base *base,
                                          struct scheduler *scheduler,
                                          const struct bundle_note *note,
                                          bundle_noted_fn noted, void *arg);

/* noted is not called any more. */
void bundle_noting_cancel(struct bundle_noting *noting);

#endif
