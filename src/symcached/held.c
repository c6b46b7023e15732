/*
 * Copyright (C) the ngx_symcache authors
 */
#include "held.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define HELD_PLACE_MAX 1024
#define HELD_DETAIL_MAX 512

struct held_attempt {
    STAILQ_ENTRY(held_attempt) next;
    struct source_attempt attempt; /* place and detail are ours */
    char *place;
    char *detail;
};

struct held {
    STAILQ_HEAD(, held_attempt) attempts;
};

struct held *held_new(void)
{
    struct held *held = calloc(1, sizeof(*held));

    if (held != NULL) {
        STAILQ_INIT(&held->attempts);
    }
    return held;
}

static void held_free_attempt(struct held_attempt *a)
{
    free(a->place);
    free(a->detail);
    free(a);
}

void held_free(struct held *held)
{
    struct held_attempt *a;

    if (held == NULL) {
        return;
    }
    while ((a = STAILQ_FIRST(&held->attempts)) != NULL) {
        STAILQ_REMOVE_HEAD(&held->attempts, next);
        held_free_attempt(a);
    }
    free(held);
}

void held_add(struct held *held, const struct source_attempt *attempt)
{
    struct held_attempt *a = calloc(1, sizeof(*a));

    if (a == NULL) {
        return;
    }
    a->attempt = *attempt;
    a->place = strndup(attempt->place, HELD_PLACE_MAX);
    a->detail = strndup(attempt->detail != NULL ? attempt->detail : "",
                        HELD_DETAIL_MAX);
    if (a->place == NULL || a->detail == NULL) {
        held_free_attempt(a);
        return;
    }
    a->attempt.place = a->place;
    a->attempt.detail = a->detail;
    STAILQ_INSERT_TAIL(&held->attempts, a, next);
}

void held_tell(const struct held *held, const struct source_callbacks *to,
               void *arg)
{
    const struct held_attempt *a;

    STAILQ_FOREACH(a, &held->attempts, next)
    {
        to->attempt(arg, &a->attempt);
    }
}
