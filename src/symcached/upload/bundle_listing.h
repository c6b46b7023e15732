/*
 * Copyright (C) the ngx_symcache authors
 *
 * Run after a bundle of scripts was stored: the lists that it belongs to have
 * an entry here (upload_index/artifacts.h) and in the tier of uploads, where
 * there is one; then stores drop what they know of these lists, here and on
 * the other machines of the fleet.
 */
#pragma once

#include <stdbool.h>

#include "upload.h"

struct bundle_listing;

/* All texts are copied. */
struct bundle_to_list {
    const struct config *config; /* that the bundle was taken with */
    const char *sum; /* the SHA-1, in hex digits; NULL: another machine has the
                        bundle, and stores here drop the lists */
    const char *debug_ids; /* lines, or NULL */
    const char *release;   /* or NULL */
    const char *dist;      /* or NULL */
    const char *list;      /* one list, by its name; or NULL */
    bool is_try;
};

/* listed is called once, never from inside.  Returns NULL when out of memory.
 */
struct bundle_listing *bundle_listing_start(struct uploads *uploads,
                                            const struct bundle_to_list *note,
                                            bundle_listed_fn listed,
                                            void *arg);

/* listed is not called any more. */
void bundle_listing_cancel(struct bundle_listing *listing);

/* Ends those of which other machines wait for the end. */
void bundle_listing_stop(struct uploads *uploads);
