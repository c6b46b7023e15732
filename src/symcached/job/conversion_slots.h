/*
 * Copyright (C) the ngx_symcache authors
 *
 * Slots of conversions, where several schedulers share the processors: so many
 * run at a time, no party has more than its share of them, and who waits first
 * is next.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

struct conversion_slots;

/* Whose conversions count together. */
struct conversion_slots_party {
    unsigned running;
};

/* A scheduler among those that share. */
struct conversion_slot {
    TAILQ_ENTRY(conversion_slot) entry; /* while it waits */
    struct conversion_slots *slots;
    struct conversion_slots_party *party; /* NULL: without a share */
    unsigned running;
    bool waits;
    void (*fn)(void *arg); /* there may be room now; calls nothing here */
    void *arg;
};

/* most: at a time; share: of these, for a party.  NULL without memory. */
struct conversion_slots *conversion_slots_new(unsigned most, unsigned share);
void conversion_slots_free(
    struct conversion_slots *slots); /* NULL is allowed */

void conversion_slot_join(struct conversion_slot *slot,
                          struct conversion_slots *slots,
                          struct conversion_slots_party *party,
                          void (*fn)(void *arg), void *arg);
void conversion_slot_leave(struct conversion_slot *slot);

/* It counts with another party from now on. */
void conversion_slot_move(struct conversion_slot *slot,
                          struct conversion_slots_party *party);

/* May one more begin?  If not, fn will be called. */
bool conversion_slot_may(struct conversion_slot *slot);

/* One has begun, or ended. */
void conversion_slot_begun(struct conversion_slot *slot);
void conversion_slot_ended(struct conversion_slot *slot);
