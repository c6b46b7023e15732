/*
 * Copyright (C) the ngx_symcache authors
 *
 * The places of the guest stores: which store has one, and which is closed for
 * another one; see guests.h for the rule.  Knows nothing else about stores.
 */
#ifndef SYMCACHED_GUEST_PLACES_H
#define SYMCACHED_GUEST_PLACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "base/hash_table.h"
#include "store_name.h"
#include "symcached/job/job.h"

TAILQ_HEAD(places_list, guest_place);

/* A scope with stores that no other scope has asked for. */
struct places_scope {
    char name[STORE_NAME + 1];
    struct turns_party party; /* of their conversions */
    unsigned count;
    struct places_list places; /* the one that was asked for last comes
                                  first */
};

/* One place; the struct of what has it begins with this. */
struct guest_place {
    TAILQ_ENTRY(guest_place) by_use;
    TAILQ_ENTRY(guest_place) of_scope;
    struct places_scope *scope; /* NULL: nobody has asked yet, or many have */
    bool is_shared;             /* many have */
    uint64_t asked;             /* clock_ms() */
    unsigned long round;        /* of the request that asked last */
    char name[STORE_NAME + 1];
};

struct places {
    unsigned most;
    unsigned count;
    unsigned nshared; /* of these */
    unsigned long round;
    struct table by_name;
    struct table by_scope;
    struct places_list own; /* not shared; by use, as above */
    struct places_list shared;
};

void places_init(struct places *places, unsigned most);
void places_clear(struct places *places); /* it is empty */

struct guest_place *places_find(const struct places *places, const char *name);

/* A request begins: a store that it asks for is not closed for the next one
 * that it asks for. */
void places_begin(struct places *places);

/* Gives it a place.  Returns 0, or -1 without memory. */
int places_add(struct places *places, struct guest_place *place,
               const char *name);
void places_remove(struct places *places, struct guest_place *place);

/* It is asked for a file. */
void places_touch(struct places *places, struct guest_place *place);

/* Somebody of a scope asks for it.  Returns 0, or -1 without memory. */
int places_use(struct places *places, struct guest_place *place,
               const char *scope);

/* Which one goes, as there are too many now, in all or of the scope of this
 * one; NULL: none. */
struct guest_place *places_excess(const struct places *places,
                                  const struct guest_place *place);

/* The one that was not asked for the longest, or NULL. */
struct guest_place *places_oldest(const struct places *places);

#endif
