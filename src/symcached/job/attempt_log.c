/*
 * Copyright (C) the ngx_symcache authors
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include "id.h"
#include "layout.h"
#include "trail.h"

#define TRAILS_MAX 1000 /* about 10 MB when all are full */
#define TRAILS_BUCKETS 1024
#define ATTEMPTS_MAX 32
#define ATTEMPTS_STEP 4
#define PLACE_MAX 512
#define DETAIL_MAX 256

struct attempt {
    char *source;
    char *place;
    char *detail;
    enum source_outcome outcome;
    time_t at;
    uint64_t bytes;
    unsigned ms;
    unsigned retry_after;
};

struct trail {
    LIST_ENTRY(trail) bucket;
    TAILQ_ENTRY(trail) age;
    struct attempt *attempts; /* room for a multiple of ATTEMPTS_STEP */
    unsigned n;
    unsigned left_off;
    char id[];
};

struct trails {
    unsigned n;
    LIST_HEAD(, trail) buckets[TRAILS_BUCKETS];
    TAILQ_HEAD(, trail) ages; /* oldest first */
};

struct trail *trail_new(const char *id)
{
    size_t size = strlen(id) + 1;
    struct trail *trail = calloc(1, sizeof(*trail) + size);

    if (trail != NULL) {
        memcpy(trail->id, id, size);
    }
    return trail;
}

static void attempt_clear(struct attempt *a)
{
    free(a->source);
    free(a->place);
    free(a->detail);
}

void trail_free(struct trail *trail)
{
    unsigned i;

    if (trail == NULL) {
        return;
    }
    for (i = 0; i < trail->n; i++) {
        attempt_clear(&trail->attempts[i]);
    }
    free(trail->attempts);
    free(trail);
}

const char *trail_id(const struct trail *trail)
{
    return trail->id;
}

static char *copy(const char *text, size_t max)
{
    return strndup(text != NULL ? text : "", max);
}

/* Most trails are of one or two attempts, and many of none yet. */
static bool make_room(struct trail *trail)
{
    struct attempt *attempts;

    if (trail->n == ATTEMPTS_MAX) {
        return false;
    }
    if (trail->n % ATTEMPTS_STEP == 0) {
        attempts = reallocarray(trail->attempts, trail->n + ATTEMPTS_STEP,
                                sizeof(*attempts));
        if (attempts == NULL) {
            return false;
        }
        trail->attempts = attempts;
    }
    return true;
}

void trail_add(struct trail *trail, const struct source_attempt *attempt)
{
    struct attempt *a;

    /* of a source that is asked again and again, the latest answer counts */
    a = trail->n > 0 ? &trail->attempts[trail->n - 1] : NULL;
    if (a != NULL && a->outcome == SOURCE_PENDING &&
        strcmp(a->source, attempt->source) == 0) {
        attempt_clear(a);
        trail->n--;
    }

    if (!make_room(trail)) {
        trail->left_off++;
        return;
    }

    a = &trail->attempts[trail->n];
    a->source = copy(attempt->source, DETAIL_MAX);
    a->place = copy(attempt->place, PLACE_MAX);
    a->detail = copy(attempt->detail, DETAIL_MAX);
    a->outcome = attempt->outcome;
    a->at = time(NULL);
    a->bytes = attempt->bytes;
    a->ms = attempt->ms;
    a->retry_after = attempt->retry_after;

    if (a->source == NULL || a->place == NULL || a->detail == NULL) {
        attempt_clear(a);
        trail->left_off++;
        return;
    }
    trail->n++;
}

/* Behind the first len bytes of buf; what has no room is cut. */
__attribute__((format(printf, 4, 5))) static void
append(char *buf, size_t size, size_t *len, const char *format, ...)
{
    va_list args;
    int n;

    if (*len < size) {
        va_start(args, format);
        n = vsnprintf(buf + *len, size - *len, format, args);
        va_end(args);
        *len += n > 0 ? (size_t)n : 0;
    }
}

void trail_print(const struct trail *trail, char *buf, size_t size)
{
    const struct attempt *a;
    size_t len = 0;
    unsigned i;

    buf[0] = '\0';
    for (i = 0; i < trail->n; i++) {
        a = &trail->attempts[i];
        append(buf, size, &len, "%s%s: %s %s (%s)", len > 0 ? "; " : "",
               a->source, a->place, source_outcome_name(a->outcome),
               a->detail);
    }
    if (trail->left_off > 0) {
        append(buf, size, &len, "; and %u more", trail->left_off);
    }
}

/* Does another place of the source follow, with the same answer? */
static bool is_repeated(const struct trail *trail, unsigned i)
{
    const struct attempt *a = &trail->attempts[i], *next = a + 1;

    return i + 1 < trail->n && next->outcome == a->outcome &&
           strcmp(next->source, a->source) == 0 &&
           strcmp(next->detail, a->detail) == 0;
}

void trail_print_brief(const struct trail *trail, char *buf, size_t size)
{
    const struct attempt *a;
    size_t len = 0;
    unsigned i;

    buf[0] = '\0';
    for (i = 0; i < trail->n; i++) {
        a = &trail->attempts[i];
        if (!is_repeated(trail, i)) {
            append(buf, size, &len, "%s%s: %s (%s)", len > 0 ? "; " : "",
                   a->source, source_outcome_name(a->outcome), a->detail);
        }
    }
}

cJSON *trail_json(const struct trail *trail)
{
    cJSON *array = cJSON_CreateArray(), *object;
    const struct attempt *a;
    unsigned i;

    for (i = 0; array != NULL && i < trail->n; i++) {
        a = &trail->attempts[i];
        object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "source", a->source);
        cJSON_AddStringToObject(object, "place", a->place);
        cJSON_AddStringToObject(object, "form",
                                layout_form_name(layout_form(a->place)));
        cJSON_AddStringToObject(object, "outcome",
                                source_outcome_name(a->outcome));
        cJSON_AddStringToObject(object, "detail", a->detail);
        cJSON_AddNumberToObject(object, "time", (double)a->at);
        cJSON_AddNumberToObject(object, "bytes", (double)a->bytes);
        cJSON_AddNumberToObject(object, "ms", a->ms);
        if (a->retry_after > 0) {
            cJSON_AddNumberToObject(object, "retry_after", a->retry_after);
        }
        cJSON_AddItemToArray(array, object);
    }
    return array;
}

struct trails *trails_new(void)
{
    struct trails *trails = calloc(1, sizeof(*trails));

    if (trails != NULL) {
        TAILQ_INIT(&trails->ages);
    }
    return trails;
}

static void drop(struct trails *trails, struct trail *trail)
{
    LIST_REMOVE(trail, bucket);
    TAILQ_REMOVE(&trails->ages, trail, age);
    trails->n--;
    trail_free(trail);
}

void trails_free(struct trails *trails)
{
    struct trail *trail;

    if (trails == NULL) {
        return;
    }
    while ((trail = TAILQ_FIRST(&trails->ages)) != NULL) {
        drop(trails, trail);
    }
    free(trails);
}

static struct trail *find(const struct trails *trails, const char *id)
{
    struct trail *trail;

    LIST_FOREACH(trail, &trails->buckets[id_hash(id) % TRAILS_BUCKETS], bucket)
    {
        if (strcmp(trail->id, id) == 0) {
            return trail;
        }
    }
    return NULL;
}

void trails_keep(struct trails *trails, struct trail *trail)
{
    struct trail *former = find(trails, trail->id);

    if (former != NULL) {
        drop(trails, former);
    }
    if (trails->n == TRAILS_MAX) {
        drop(trails, TAILQ_FIRST(&trails->ages));
    }

    LIST_INSERT_HEAD(&trails->buckets[id_hash(trail->id) % TRAILS_BUCKETS],
                     trail, bucket);
    TAILQ_INSERT_TAIL(&trails->ages, trail, age);
    trails->n++;
}

const struct trail *trails_find(const struct trails *trails, const char *id)
{
    return find(trails, id);
}
