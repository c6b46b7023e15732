/*
 * Copyright (C) the ngx_symcache authors
 */
#include "conversion_slots.h"

#include <stdlib.h>

struct conversion_slots {
    unsigned most;
    unsigned share;
    unsigned running;
    TAILQ_HEAD(, conversion_slot) waiting;
};

struct conversion_slots *conversion_slots_new(unsigned most, unsigned share)
{
    struct conversion_slots *slots = calloc(1, sizeof(*slots));

    if (slots != NULL) {
        slots->most = most;
        slots->share = share;
        TAILQ_INIT(&slots->waiting);
    }
    return slots;
}

void conversion_slots_free(struct conversion_slots *slots)
{
    free(slots);
}

static bool has_share(const struct conversion_slot *slot)
{
    return slot->party == NULL || slot->party->running < slot->slots->share;
}

/*
 * Calls all parties that may begin, in their order: if one has nothing to
 * begin any more, the next one must still be called.  Parties that find no
 * free slot wait again, in the same order.
 */
static void wake_party(struct conversion_slots *slots)
{
    struct conversion_slot *slot, *next;

    if (slots->running >= slots->most) {
        return;
    }
    for (slot = TAILQ_FIRST(&slots->waiting); slot != NULL; slot = next) {
        next = TAILQ_NEXT(slot, entry);
        if (has_share(slot)) {
            TAILQ_REMOVE(&slots->waiting, slot, entry);
            slot->waits = false;
            slot->fn(slot->arg);
        }
    }
}

void conversion_slot_join(struct conversion_slot *slot,
                          struct conversion_slots *slots,
                          struct conversion_slots_party *party,
                          void (*fn)(void *arg), void *arg)
{
    slot->slots = slots;
    slot->party = party;
    slot->running = 0;
    slot->waits = false;
    slot->fn = fn;
    slot->arg = arg;
}

void conversion_slot_move(struct conversion_slot *slot,
                          struct conversion_slots_party *party)
{
    if (slot->party != NULL) {
        slot->party->running -= slot->running;
    }
    slot->party = party;
    if (party != NULL) {
        party->running += slot->running;
    }
}

void conversion_slot_leave(struct conversion_slot *slot)
{
    if (slot->waits) {
        TAILQ_REMOVE(&slot->slots->waiting, slot, entry);
        slot->waits = false;
    }
    slot->slots->running -= slot->running;
    conversion_slot_move(slot, NULL);
    slot->running = 0;
    wake_party(slot->slots);
}

bool conversion_slot_may(struct conversion_slot *slot)
{
    struct conversion_slots *slots = slot->slots;

    if (slots->running < slots->most && has_share(slot)) {
        return true;
    }
    if (!slot->waits) {
        slot->waits = true;
        TAILQ_INSERT_TAIL(&slots->waiting, slot, entry);
    }
    return false;
}

void conversion_slot_begun(struct conversion_slot *slot)
{
    slot->running++;
    slot->slots->running++;
    if (slot->party != NULL) {
        slot->party->running++;
    }
}

void conversion_slot_ended(struct conversion_slot *slot)
{
    slot->running--;
    slot->slots->running--;
    if (slot->party != NULL) {
        slot->party->running--;
    }
    wake_party(slot->slots);
}
