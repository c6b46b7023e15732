/*
 * Copyright (C) the ngx_symcache authors
 */
#include "slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SCOPE_SHARE 4 /* one scope has at most this part of all places */

/* Places that several scopes have asked for do not use up the number of
 * places. They have a limit of their own, the same number or at least this
 * one, because the lists of clients name the same few servers. */
#define SHARED_LEAST 64

void guest_slots_init(struct guest_slots *places, unsigned most)
{
    memset(places, 0, sizeof(*places));
    places->most = most;
    TAILQ_INIT(&places->own);
    TAILQ_INIT(&places->shared);
}

void guest_slots_clear(struct guest_slots *places)
{
    table_free(&places->by_name);
    table_free(&places->by_scope);
}

struct guest_slot *guest_slots_find(const struct guest_slots *places,
                                    const char *name)
{
    uint64_t hash = table_hash_text(&places->by_name, name);
    struct guest_slot *place;
    size_t at = 0;

    while ((place = (struct guest_slot *)table_next(&places->by_name, hash,
                                                    &at)) != NULL &&
           strcmp(place->name, name) != 0) {
    }
    return place;
}

void guest_slots_begin(struct guest_slots *places)
{
    places->round++;
}

static struct places_list *list_of(struct guest_slots *places,
                                   const struct guest_slot *place)
{
    return place->is_shared ? &places->shared : &places->own;
}

int guest_slots_add(struct guest_slots *places, struct guest_slot *place,
                    const char *name)
{
    snprintf(place->name, sizeof(place->name), "%s", name);
    if (table_add(&places->by_name, table_hash_text(&places->by_name, name),
                  (uintptr_t)place) != 0) {
        return -1;
    }
    place->asked = clock_ms();
    TAILQ_INSERT_HEAD(&places->own, place, by_use);
    places->count++;
    return 0;
}

/* scopes ------------------------------------------------------------------ */

static struct guest_slots_scope *find_scope(struct guest_slots *places,
                                            const char *name)
{
    uint64_t hash = table_hash_text(&places->by_scope, name);
    struct guest_slots_scope *scope;
    size_t at = 0;

    while ((scope = (struct guest_slots_scope *)table_next(
                &places->by_scope, hash, &at)) != NULL &&
           strcmp(scope->name, name) != 0) {
    }
    if (scope != NULL || (scope = calloc(1, sizeof(*scope))) == NULL) {
        return scope;
    }
    snprintf(scope->name, sizeof(scope->name), "%s", name);
    TAILQ_INIT(&scope->places);
    if (table_add(&places->by_scope, hash, (uintptr_t)scope) != 0) {
        free(scope);
        return NULL;
    }
    return scope;
}

static void leave_scope(struct guest_slots *places, struct guest_slot *place)
{
    struct guest_slots_scope *scope = place->scope;

    if (scope == NULL) {
        return;
    }
    place->scope = NULL;
    TAILQ_REMOVE(&scope->places, place, of_scope);
    if (--scope->count == 0) {
        table_remove(&places->by_scope,
                     table_hash_text(&places->by_scope, scope->name),
                     (uintptr_t)scope);
        free(scope);
    }
}

void guest_slots_remove(struct guest_slots *places, struct guest_slot *place)
{
    leave_scope(places, place);
    places->nshared -= place->is_shared;
    TAILQ_REMOVE(list_of(places, place), place, by_use);
    table_remove(&places->by_name,
                 table_hash_text(&places->by_name, place->name),
                 (uintptr_t)place);
    places->count--;
}

void guest_slots_touch(struct guest_slots *places, struct guest_slot *place)
{
    struct guest_slots_scope *scope = place->scope;

    if (scope != NULL) {
        TAILQ_REMOVE(&scope->places, place, of_scope);
        TAILQ_INSERT_HEAD(&scope->places, place, of_scope);
    }
    TAILQ_REMOVE(list_of(places, place), place, by_use);
    TAILQ_INSERT_HEAD(list_of(places, place), place, by_use);
    place->asked = clock_ms();
}

int guest_slots_use(struct guest_slots *places, struct guest_slot *place,
                    const char *name)
{
    struct guest_slots_scope *scope = place->scope;

    TAILQ_REMOVE(list_of(places, place), place, by_use);
    if (scope != NULL && strcmp(scope->name, name) != 0) {
        leave_scope(places, place);
        place->is_shared = true;
        places->nshared++;
    } else if (scope != NULL) {
        TAILQ_REMOVE(&scope->places, place, of_scope);
        TAILQ_INSERT_HEAD(&scope->places, place, of_scope);
    } else if (!place->is_shared) {
        scope = find_scope(places, name);
        if (scope != NULL) {
            place->scope = scope;
            scope->count++;
            TAILQ_INSERT_HEAD(&scope->places, place, of_scope);
        }
    }
    TAILQ_INSERT_HEAD(list_of(places, place), place, by_use);
    place->asked = clock_ms();
    place->round = places->round;
    return place->scope != NULL || place->is_shared ? 0 : -1;
}

/* eviction ---------------------------------------------------------------- */

static struct guest_slot *unless_asked(const struct guest_slots *places,
                                       struct guest_slot *place)
{
    return place != NULL && place->round == places->round ? NULL : place;
}

struct guest_slot *guest_slots_excess(const struct guest_slots *places,
                                      const struct guest_slot *place)
{
    const struct guest_slots_scope *scope = place->scope;
    unsigned share = places->most / SCOPE_SHARE;
    unsigned most_shared =
        places->most > SHARED_LEAST ? places->most : SHARED_LEAST;
    struct guest_slot *last = NULL;

    if (scope != NULL && scope->count > (share > 0 ? share : 1)) {
        last = unless_asked(places, TAILQ_LAST(&scope->places, places_list));
    }
    if (last == NULL && places->count - places->nshared > places->most) {
        last = unless_asked(places, TAILQ_LAST(&places->own, places_list));
    }
    if (last == NULL && places->nshared > most_shared) {
        last = unless_asked(places, TAILQ_LAST(&places->shared, places_list));
    }
    return last;
}

struct guest_slot *guest_slots_oldest(const struct guest_slots *places)
{
    struct guest_slot *own = TAILQ_LAST(&places->own, places_list);
    struct guest_slot *shared = TAILQ_LAST(&places->shared, places_list);

    return own == NULL || (shared != NULL && shared->asked < own->asked)
               ? shared
               : own;
}
