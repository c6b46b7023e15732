/*
 * Copyright (C) the ngx_symcache authors
 *
 * The slots of the guest stores: which store has one, and which is closed for
 * another one; see guests.h for the rule.  Knows nothing else about stores.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "base/hash_table.h"
#include "store_name.h"
#include "symcached/job/job.h"

TAILQ_HEAD(slot_list, guest_slot);

/* A scope with stores that no other scope has asked for. */
struct guest_slots_scope {
    char name[STORE_NAME + 1];
    struct conversion_slots_party party; /* of their conversions */
    unsigned count;
    struct slot_list slots; /* the one that was asked for last comes
                                  first */
};

/* One slot; the struct of what has it begins with this. */
struct guest_slot {
    TAILQ_ENTRY(guest_slot) by_use;
    TAILQ_ENTRY(guest_slot) of_scope;
    struct guest_slots_scope
        *scope;          /* NULL: nobody has asked yet, or many have */
    bool is_shared;      /* many have */
    uint64_t asked;      /* clock_ms() */
    unsigned long round; /* of the request that asked last */
    char name[STORE_NAME + 1];
};

struct guest_slots {
    unsigned most;
    unsigned count;
    unsigned nshared; /* of these */
    unsigned long round;
    struct table by_name;
    struct table by_scope;
    struct slot_list own; /* not shared; by use, as above */
    struct slot_list shared;
};

void guest_slots_init(struct guest_slots *slots, unsigned most);
void guest_slots_clear(struct guest_slots *slots); /* it is empty */

struct guest_slot *guest_slots_find(const struct guest_slots *slots,
                                    const char *name);

/* A request begins: a store that it asks for is not closed for the next one
 * that it asks for. */
void guest_slots_begin(struct guest_slots *slots);

/* Gives it a slot.  Returns 0, or -1 without memory. */
int guest_slots_add(struct guest_slots *slots, struct guest_slot *slot,
                    const char *name);
void guest_slots_remove(struct guest_slots *slots, struct guest_slot *slot);

/* It is asked for a file. */
void guest_slots_touch(struct guest_slots *slots, struct guest_slot *slot);

/* Somebody of a scope asks for it.  Returns 0, or -1 without memory. */
int guest_slots_use(struct guest_slots *slots, struct guest_slot *slot,
                    const char *scope);

/* Which one goes, as there are too many now, in all or of the scope of this
 * one; NULL: none. */
struct guest_slot *guest_slots_excess(const struct guest_slots *slots,
                                      const struct guest_slot *slot);

/* The one that was not asked for the longest, or NULL. */
struct guest_slot *guest_slots_oldest(const struct guest_slots *slots);
