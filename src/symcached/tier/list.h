/*
 * Copyright (C) the ngx_symcache authors
 *
 * All that is in a tier: for the operator's command only, which waits for each
 * answer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "config/config.h"

struct tiers;

struct tier_listed {
    const char *name; /* below the tier's prefix or folder */
    uint64_t size;
    int64_t stored; /* seconds since 1970 */
};

typedef void (*tier_listed_fn)(void *arg, const struct tier_listed *listed);

/*
 * Calls fn for each object, in the order of the store.  fn may run the event
 * loop, and remove the object.  Returns 0, or -1 with a sentence in error.
 */
int tier_list(struct tiers *tiers, const struct tier_config *tier,
              tier_listed_fn fn, void *arg, char *error, size_t size);

/*
 * list_s3.c: one bucket, page by page, see bucket_page.h.
 */
int tier_list_s3(struct tiers *tiers, const struct tier_config *tier,
                 tier_listed_fn fn, void *arg, char *error, size_t size);
