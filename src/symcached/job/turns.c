/*
 * Copyright (C) the ngx_symcache authors
 */
#include "turns.h"

#include <stdlib.h>

struct turns {
    unsigned most;
    unsigned share;
    unsigned running;
    TAILQ_HEAD(, turn) waiting;
};

struct turns *turns_new(unsigned most, unsigned share)
{
    struct turns *turns = calloc(1, sizeof(*turns));

    if (turns != NULL) {
        turns->most = most;
        turns->share = share;
        TAILQ_INIT(&turns->waiting);
    }
    return turns;
}

void turns_free(struct turns *turns)
{
    free(turns);
}

static bool has_share(const struct turn *turn)
{
    return turn->party == NULL || turn->party->running < turn->turns->share;
}

/*
 * Calls all parties that may begin, in their order: if one has nothing to
 * begin any more, the next one must still be called.  Parties that find no
 * free turn wait again, in the same order.
 */
static void wake(struct turns *turns)
{
    struct turn *turn, *next;

    if (turns->running >= turns->most) {
        return;
    }
    for (turn = TAILQ_FIRST(&turns->waiting); turn != NULL; turn = next) {
        next = TAILQ_NEXT(turn, entry);
        if (has_share(turn)) {
            TAILQ_REMOVE(&turns->waiting, turn, entry);
            turn->waits = false;
            turn->fn(turn->arg);
        }
    }
}

void turn_join(struct turn *turn, struct turns *turns,
               struct turns_party *party, void (*fn)(void *arg), void *arg)
{
    turn->turns = turns;
    turn->party = party;
    turn->running = 0;
    turn->waits = false;
    turn->fn = fn;
    turn->arg = arg;
}

void turn_move(struct turn *turn, struct turns_party *party)
{
    if (turn->party != NULL) {
        turn->party->running -= turn->running;
    }
    turn->party = party;
    if (party != NULL) {
        party->running += turn->running;
    }
}

void turn_leave(struct turn *turn)
{
    if (turn->waits) {
        TAILQ_REMOVE(&turn->turns->waiting, turn, entry);
        turn->waits = false;
    }
    turn->turns->running -= turn->running;
    turn_move(turn, NULL);
    turn->running = 0;
    wake(turn->turns);
}

bool turn_may(struct turn *turn)
{
    struct turns *turns = turn->turns;

    if (turns->running < turns->most && has_share(turn)) {
        return true;
    }
    if (!turn->waits) {
        turn->waits = true;
        TAILQ_INSERT_TAIL(&turns->waiting, turn, entry);
    }
    return false;
}

void turn_begun(struct turn *turn)
{
    turn->running++;
    turn->turns->running++;
    if (turn->party != NULL) {
        turn->party->running++;
    }
}

void turn_ended(struct turn *turn)
{
    turn->running--;
    turn->turns->running--;
    if (turn->party != NULL) {
        turn->party->running--;
    }
    wake(turn->turns);
}
