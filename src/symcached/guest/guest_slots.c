/*
 * Copyright (C) the ngx_symcache authors
 */
#include "guest_slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SCOPE_SHARE 4 /* one scope has at most this part of all slots */

/* Slots that several scopes have asked for do not use up the number of
 * slots. They have a limit of their own, the same number or at least this
 * one, because the lists of clients name the same few servers. */
#define SHARED_LEAST 64

void guest_slots_init(struct guest_slots *slots, unsigned most)
{
    memset(slots, 0, sizeof(*slots));
    slots->most = most;
    TAILQ_INIT(&slots->own);
    TAILQ_INIT(&slots->shared);
}

void guest_slots_clear(struct guest_slots *slots)
{
    table_free(&slots->by_name);
    table_free(&slots->by_scope);
}

struct guest_slot *guest_slots_find(const struct guest_slots *slots,
                                    const char *name)
{
    uint64_t hash = table_hash_text(&slots->by_name, name);
    struct guest_slot *slot;
    size_t at = 0;

    while ((slot = (struct guest_slot *)table_next(&slots->by_name, hash,
                                                   &at)) != NULL &&
           strcmp(slot->name, name) != 0) {
    }
    return slot;
}

void guest_slots_begin(struct guest_slots *slots)
{
    slots->round++;
}

static struct slot_list *list_of(struct guest_slots *slots,
                                 const struct guest_slot *slot)
{
    return slot->is_shared ? &slots->shared : &slots->own;
}

int guest_slots_add(struct guest_slots *slots, struct guest_slot *slot,
                    const char *name)
{
    snprintf(slot->name, sizeof(slot->name), "%s", name);
    if (table_add(&slots->by_name, table_hash_text(&slots->by_name, name),
                  (uintptr_t)slot) != 0) {
        return -1;
    }
    slot->asked = clock_ms();
    TAILQ_INSERT_HEAD(&slots->own, slot, by_use);
    slots->count++;
    return 0;
}

/* scopes ------------------------------------------------------------------ */

static struct guest_slots_scope *find_scope(struct guest_slots *slots,
                                            const char *name)
{
    uint64_t hash = table_hash_text(&slots->by_scope, name);
    struct guest_slots_scope *scope;
    size_t at = 0;

    while ((scope = (struct guest_slots_scope *)table_next(
                &slots->by_scope, hash, &at)) != NULL &&
           strcmp(scope->name, name) != 0) {
    }
    if (scope != NULL || (scope = calloc(1, sizeof(*scope))) == NULL) {
        return scope;
    }
    snprintf(scope->name, sizeof(scope->name), "%s", name);
    TAILQ_INIT(&scope->slots);
    if (table_add(&slots->by_scope, hash, (uintptr_t)scope) != 0) {
        free(scope);
        return NULL;
    }
    return scope;
}

static void leave_scope(struct guest_slots *slots, struct guest_slot *slot)
{
    struct guest_slots_scope *scope = slot->scope;

    if (scope == NULL) {
        return;
    }
    slot->scope = NULL;
    TAILQ_REMOVE(&scope->slots, slot, of_scope);
    if (--scope->count == 0) {
        table_remove(&slots->by_scope,
                     table_hash_text(&slots->by_scope, scope->name),
                     (uintptr_t)scope);
        free(scope);
    }
}

void guest_slots_remove(struct guest_slots *slots, struct guest_slot *slot)
{
    leave_scope(slots, slot);
    slots->nshared -= slot->is_shared;
    TAILQ_REMOVE(list_of(slots, slot), slot, by_use);
    table_remove(&slots->by_name,
                 table_hash_text(&slots->by_name, slot->name),
                 (uintptr_t)slot);
    slots->count--;
}

void guest_slots_touch(struct guest_slots *slots, struct guest_slot *slot)
{
    struct guest_slots_scope *scope = slot->scope;

    if (scope != NULL) {
        TAILQ_REMOVE(&scope->slots, slot, of_scope);
        TAILQ_INSERT_HEAD(&scope->slots, slot, of_scope);
    }
    TAILQ_REMOVE(list_of(slots, slot), slot, by_use);
    TAILQ_INSERT_HEAD(list_of(slots, slot), slot, by_use);
    slot->asked = clock_ms();
}

int guest_slots_use(struct guest_slots *slots, struct guest_slot *slot,
                    const char *name)
{
    struct guest_slots_scope *scope = slot->scope;

    TAILQ_REMOVE(list_of(slots, slot), slot, by_use);
    if (scope != NULL && strcmp(scope->name, name) != 0) {
        leave_scope(slots, slot);
        slot->is_shared = true;
        slots->nshared++;
    } else if (scope != NULL) {
        TAILQ_REMOVE(&scope->slots, slot, of_scope);
        TAILQ_INSERT_HEAD(&scope->slots, slot, of_scope);
    } else if (!slot->is_shared) {
        scope = find_scope(slots, name);
        if (scope != NULL) {
            slot->scope = scope;
            scope->count++;
            TAILQ_INSERT_HEAD(&scope->slots, slot, of_scope);
        }
    }
    TAILQ_INSERT_HEAD(list_of(slots, slot), slot, by_use);
    slot->asked = clock_ms();
    slot->round = slots->round;
    return slot->scope != NULL || slot->is_shared ? 0 : -1;
}

/* eviction ---------------------------------------------------------------- */

static struct guest_slot *unless_asked(const struct guest_slots *slots,
                                       struct guest_slot *slot)
{
    return slot != NULL && slot->round == slots->round ? NULL : slot;
}

struct guest_slot *guest_slots_excess(const struct guest_slots *slots,
                                      const struct guest_slot *slot)
{
    const struct guest_slots_scope *scope = slot->scope;
    unsigned share = slots->most / SCOPE_SHARE;
    unsigned most_shared =
        slots->most > SHARED_LEAST ? slots->most : SHARED_LEAST;
    struct guest_slot *last = NULL;

    if (scope != NULL && scope->count > (share > 0 ? share : 1)) {
        last = unless_asked(slots, TAILQ_LAST(&scope->slots, slot_list));
    }
    if (last == NULL && slots->count - slots->nshared > slots->most) {
        last = unless_asked(slots, TAILQ_LAST(&slots->own, slot_list));
    }
    if (last == NULL && slots->nshared > most_shared) {
        last = unless_asked(slots, TAILQ_LAST(&slots->shared, slot_list));
    }
    return last;
}

struct guest_slot *guest_slots_oldest(const struct guest_slots *slots)
{
    struct guest_slot *own = TAILQ_LAST(&slots->own, slot_list);
    struct guest_slot *shared = TAILQ_LAST(&slots->shared, slot_list);

    return own == NULL || (shared != NULL && shared->asked < own->asked)
               ? shared
               : own;
}
