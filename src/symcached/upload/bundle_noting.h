/*
 * Copyright (C) the ngx_symcache authors
 *
 * Run after a bundle of scripts was stored: the lists that it belongs to have
 * an entry here (index/artifacts.h) and in the tier of uploads, where there is
 * one; then stores drop what they know of these lists, here and on the other
 * machines of the fleet.
 */
#ifndef SYMCACHED_UPLOAD_BUNDLE_NOTING_H
#define SYMCACHED_UPLOAD_BUNDLE_NOTING_H

#include <stdbool.h>

#include "upload.h"

struct bundle_noting;

/* All texts are copied. */
struct bundle_note {
    const char *root; /* of uploads */
    const char *sum; /* the SHA-1, in hex digits; NULL: another machine has the
                        bundle, and stores here drop the lists */
    const char *debug_ids; /* lines, or NULL */
    const char *release;   /* or NULL */
    const char *dist;      /* or NULL */
    const char *list;      /* one list, by its name; or NULL */
    bool is_try;
};

/* noted is called once, never from inside.  Returns NULL when out of memory.
 */
struct bundle_noting *bundle_noting_start(struct uploads *uploads,
                                          const struct bundle_note *note,
                                          bundle_noted_fn noted, void *arg);

/* noted is not called any more. */
void bundle_noting_cancel(struct bundle_noting *noting);

/* Ends those of which other machines wait for the end. */
void bundle_noting_stop(struct uploads *uploads);

#endif
