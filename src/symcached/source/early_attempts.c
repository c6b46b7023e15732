/*
 * Copyright (C) the ngx_symcache authors
 */
#include "early_attempts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define ATTEMPT_QUEUE_PLACE_MAX 1024
#define ATTEMPT_QUEUE_DETAIL_MAX 512

struct attempt_queue_attempt {
    STAILQ_ENTRY(attempt_queue_attempt) next;
    struct lookup_attempt attempt; /* place and detail are ours */
    char *place;
    char *detail;
};

struct early_attempts {
    STAILQ_HEAD(, attempt_queue_attempt) attempts;
};

struct early_attempts *early_attempts_new(void)
{
    struct early_attempts *early = calloc(1, sizeof(*early));

    if (early != NULL) {
        STAILQ_INIT(&early->attempts);
    }
    return early;
}

static void attempt_queue_free_attempt(struct attempt_queue_attempt *a)
{
    free(a->place);
    free(a->detail);
    free(a);
}

void early_attempts_free(struct early_attempts *early)
{
    struct attempt_queue_attempt *a;

    if (early == NULL) {
        return;
    }
    while ((a = STAILQ_FIRST(&early->attempts)) != NULL) {
        STAILQ_REMOVE_HEAD(&early->attempts, next);
        attempt_queue_free_attempt(a);
    }
    free(early);
}

void early_attempts_add(struct early_attempts *early,
                        const struct lookup_attempt *attempt)
{
    struct attempt_queue_attempt *a = calloc(1, sizeof(*a));

    if (a == NULL) {
        return;
    }
    a->attempt = *attempt;
    a->place = strndup(attempt->place, ATTEMPT_QUEUE_PLACE_MAX);
    a->detail = strndup(attempt->detail != NULL ? attempt->detail : "",
                        ATTEMPT_QUEUE_DETAIL_MAX);
    if (a->place == NULL || a->detail == NULL) {
        attempt_queue_free_attempt(a);
        return;
    }
    a->attempt.place = a->place;
    a->attempt.detail = a->detail;
    STAILQ_INSERT_TAIL(&early->attempts, a, next);
}

void early_attempts_tell(const struct early_attempts *early,
                         const struct lookup_callbacks *to, void *arg)
{
    const struct attempt_queue_attempt *a;

    STAILQ_FOREACH(a, &early->attempts, next)
    {
        to->attempt(arg, &a->attempt);
    }
}
