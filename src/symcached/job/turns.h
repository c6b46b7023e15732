/*
 * Copyright (C) the ngx_symcache authors
 *
 * Turns of conversions, where several schedulers share the processors: so many
 * run at a time, no party has more than its share of them, and who waits first
 * is next.
 */
#ifndef SYMCACHED_JOB_TURNS_H
#define SYMCACHED_JOB_TURNS_H

#include <stdbool.h>
#include <sys/queue.h>

struct turns;

/* Whose conversions count together. */
struct turns_party {
    unsigned running;
};

/* A scheduler among those that share. */
struct turn {
    TAILQ_ENTRY(turn) entry; /* while it waits */
    struct turns *turns;
    struct turns_party *party; /* NULL: without a share */
    unsigned running;
    bool waits;
    void (*fn)(void *arg); /* there may be room now; calls nothing here */
    void *arg;
};

/* most: at a time; share: of these, for a party.  NULL without memory. */
struct turns *turns_new(unsigned most, unsigned share);
void turns_free(struct turns *turns); /* NULL is allowed */

void turn_join(struct turn *turn, struct turns *turns,
               struct turns_party *party, void (*fn)(void *arg), void *arg);
void turn_leave(struct turn *turn);

/* It counts with another party from now on. */
void turn_move(struct turn *turn, struct turns_party *party);

/* May one more begin?  If not, fn will be called. */
bool turn_may(struct turn *turn);

/* One has begun, or ended. */
void turn_begun(struct turn *turn);
void turn_ended(struct turn *turn);

#endif
