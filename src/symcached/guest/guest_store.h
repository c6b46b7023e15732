/*
 * Copyright (C) the ngx_symcache authors
 *
 * A guest store while it is in use: its configuration, and a scheduler with
 * sources of its own.
 */
#pragma once

#include <cjson/cJSON.h>
#include "guest_config.h"
#include "symcached/job/job.h"

struct guest_store {
    struct config *config;
    struct sources *sources;
    struct scheduler *scheduler;
    struct conversion_slot turn;
};

/* Data shared by all stores. */
struct guest_context {
    struct event_base *base;
    struct tiers *tiers;
    struct tier_config *tier; /* of all stores, or NULL */
    struct conversion_slots *turns;
};

/*
 * Opens the store of that name in a folder, which is made, for a list of
 * sources.  Returns NULL with a sentence in error; *is_wrong tells whether the
 * list is to blame.
 */
struct guest_store *guest_store_open(const struct guest_context *context,
                                     const struct guest_settings *settings,
                                     const char *folder, const char *name,
                                     const cJSON *list,
                                     struct conversion_slots_party *party,
                                     char *error, size_t size, bool *is_wrong);

/* Ends its jobs, whose waiters are answered, and lets it go.  Its files stay.
 * NULL is allowed. */
void guest_store_close(struct guest_store *store);
