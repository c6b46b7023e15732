/*
 * Copyright (C) the ngx_symcache authors
 */
#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define SCOPE_SHARE 4 /* one scope has at most this part of all places */

/* Places that several scopes have asked for do not use up the number of
 * places. They have a limit of their own, the same number or at least this
 * one, because the lists of clients name the same few servers. */
#define SHARED_LEAST 64

void places_init(struct places *places, unsigned most)
{
    memset(places, 0, sizeof(*places));
    places->most = most;
    TAILQ_INIT(&places->own);
    TAILQ_INIT(&places->shared);
}

void places_clear(struct places *places)
{
    table_free(&places->by_name);
    table_free(&places->by_scope);
}

struct guest_place *places_find(const struct places *places, const char *name)
{
    uint64_t hash = table_hash_text(&places->by_name, name);
    struct guest_place *place;
    size_t at = 0;

    while ((place = (struct guest_place *)table_next(&places->by_name, hash,
                                                     &at)) != NULL &&
           strcmp(place->name, name) != 0) {
    }
    return place;
}

void places_begin(struct places *places)
{
    places->round++;
}

static struct places_list *list_of(struct places *places,
                                   const struct guest_place *place)
{
    return place->is_shared ? &places->shared : &places->own;
}

int places_add(struct places *places, struct guest_place *place,
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

/* scopes -------------------------------------------------------------------
 */

static struct places_scope *find_scope(struct places *places, const char *name)
{
    uint64_t hash = table_hash_text(&places->by_scope, name);
    struct places_scope *scope;
    size_t at = 0;

    while ((scope = (struct places_scope *)table_next(&places->by_scope, hash,
                                                      &at)) != NULL &&
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

static void leave_scope(struct places *places, struct guest_place *place)
{
    struct places_scope *scope = place->scope;

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

void places_remove(struct places *places, struct guest_place *place)
{
    leave_scope(places, place);
    places->nshared -= place->is_shared;
    TAILQ_REMOVE(list_of(places, place), place, by_use);
    table_remove(&places->by_name,
                 table_hash_text(&places->by_name, place->name),
                 (uintptr_t)place);
    places->count--;
}

void places_touch(struct places *places, struct guest_place *place)
{
    struct places_scope *scope = place->scope;

    if (scope != NULL) {
        TAILQ_REMOVE(&scope->places, place, of_scope);
        TAILQ_INSERT_HEAD(&scope->places, place, of_scope);
    }
    TAILQ_REMOVE(list_of(places, place), place, by_use);
    TAILQ_INSERT_HEAD(list_of(places, place), place, by_use);
    place->asked = clock_ms();
}

int places_use(struct places *places, struct guest_place *place,
               const char *name)
{
    struct places_scope *scope = place->scope;

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

static struct guest_place *unless_asked(const struct places *places,
                                        struct guest_place *place)
{
    return place != NULL && place->round == places->round ? NULL : place;
}

struct guest_place *places_excess(const struct places *places,
                                  const struct guest_place *place)
{
    const struct places_scope *scope = place->scope;
    unsigned share = places->most / SCOPE_SHARE;
    unsigned most_shared =
        places->most > SHARED_LEAST ? places->most : SHARED_LEAST;
    struct guest_place *last = NULL;

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

struct guest_place *places_oldest(const struct places *places)
{
    struct guest_place *own = TAILQ_LAST(&places->own, places_list);
    struct guest_place *shared = TAILQ_LAST(&places->shared, places_list);

    return own == NULL || (shared != NULL && shared->asked < own->asked)
               ? shared
               : own;
}
