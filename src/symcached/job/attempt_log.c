/*
 * Copyright (C) the ngx_symcache authors
 */

#include "attempt_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>
#include "base/hash_table.h"
#include "proto/provenance.h"
#include "symcached/source/layout.h"

#define LOGS_MAX 1000 /* about 20 MB when all are full */
#define ATTEMPTS_MAX 64
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
    long status;
    int errnum;
};

struct attempt_log {
    TAILQ_ENTRY(attempt_log) age;
    struct attempt *attempts; /* room for a multiple of ATTEMPTS_STEP */
    unsigned n;
    unsigned left_off;
    struct attempt *tier; /* or NULL */
    char id[];
};

struct attempt_logs {
    unsigned n;
    struct table by_id;
    TAILQ_HEAD(, attempt_log) by_age; /* oldest first */
};

struct attempt_log *attempt_log_new(const char *id)
{
    size_t size = strlen(id) + 1;
    struct attempt_log *attempt_log = calloc(1, sizeof(*attempt_log) + size);

    if (attempt_log != NULL) {
        memcpy(attempt_log->id, id, size);
    }
    return attempt_log;
}

static void clear_attempt(struct attempt *attempt)
{
    free(attempt->source);
    free(attempt->place);
    free(attempt->detail);
}

void attempt_log_free(struct attempt_log *attempt_log)
{
    unsigned i;

    if (attempt_log == NULL) {
        return;
    }
    for (i = 0; i < attempt_log->n; i++) {
        clear_attempt(&attempt_log->attempts[i]);
    }
    if (attempt_log->tier != NULL) {
        clear_attempt(attempt_log->tier);
        free(attempt_log->tier);
    }
    free(attempt_log->attempts);
    free(attempt_log);
}

const char *attempt_log_id(const struct attempt_log *attempt_log)
{
    return attempt_log->id;
}

static char *attempt_copy_text(const char *text, size_t max)
{
    return strndup(text != NULL ? text : "", max);
}

/* Grows in small steps, as most logs have no more than two attempts. */
static bool grow_log(struct attempt_log *attempt_log)
{
    struct attempt *attempts;

    if (attempt_log->n == ATTEMPTS_MAX) {
        return false;
    }
    if (attempt_log->n % ATTEMPTS_STEP == 0) {
        attempts =
            reallocarray(attempt_log->attempts, attempt_log->n + ATTEMPTS_STEP,
                         sizeof(*attempts));
        if (attempts == NULL) {
            return false;
        }
        attempt_log->attempts = attempts;
    }
    return true;
}

/* Fills a.  Returns false when out of memory. */
static bool fill_attempt(struct attempt *a,
                         const struct lookup_attempt *attempt)
{
    a->source = attempt_copy_text(attempt->source, DETAIL_MAX);
    a->place = attempt_copy_text(attempt->place, PLACE_MAX);
    a->detail = attempt_copy_text(attempt->detail, DETAIL_MAX);
    a->outcome = attempt->outcome;
    a->at = time(NULL);
    a->bytes = attempt->bytes;
    a->ms = attempt->ms;
    a->retry_after = attempt->retry_after;
    a->status = attempt->status;
    a->errnum = attempt->errnum;
    if (a->source == NULL || a->place == NULL || a->detail == NULL) {
        clear_attempt(a);
        return false;
    }
    return true;
}

void attempt_log_tier(struct attempt_log *attempt_log,
                      const struct lookup_attempt *attempt)
{
    struct attempt *a = calloc(1, sizeof(*a));

    if (a != NULL && fill_attempt(a, attempt)) {
        if (attempt_log->tier != NULL) {
            clear_attempt(attempt_log->tier);
            free(attempt_log->tier);
        }
        attempt_log->tier = a;
    } else {
        free(a);
    }
}

void attempt_log_add(struct attempt_log *attempt_log,
                     const struct lookup_attempt *attempt)
{
    struct attempt *a;

    /* only the latest answer of a source that is asked again is kept */
    a = attempt_log->n > 0 ? &attempt_log->attempts[attempt_log->n - 1] : NULL;
    if (a != NULL && a->outcome == SOURCE_PENDING &&
        strcmp(a->source, attempt->source) == 0) {
        clear_attempt(a);
        attempt_log->n--;
    }

    if (!grow_log(attempt_log)) {
        attempt_log->left_off++;
        return;
    }

    if (!fill_attempt(&attempt_log->attempts[attempt_log->n], attempt)) {
        attempt_log->left_off++;
        return;
    }
    attempt_log->n++;
}

void attempt_log_mark_unusable(struct attempt_log *attempt_log,
                               const char *source, const char *place,
                               const char *why)
{
    struct lookup_attempt attempt = {.source = source,
                                     .place = place,
                                     .outcome = SOURCE_UNUSABLE,
                                     .detail = why};
    struct attempt *a =
        attempt_log->n > 0 ? &attempt_log->attempts[attempt_log->n - 1] : NULL;
    char *detail;

    if (a == NULL || a->outcome != SOURCE_FOUND) {
        attempt_log_add(attempt_log, &attempt);
        return;
    }

    a->outcome = SOURCE_UNUSABLE;
    detail = attempt_copy_text(why, DETAIL_MAX);
    if (detail != NULL) {
        free(a->detail);
        a->detail = detail;
    }
}

/* Appends to the first *len bytes of buf and cuts off text that does not
 * fit. */
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

/* Does another place of the source follow, with the same answer? */
static bool attempt_is_repeated(const struct attempt_log *attempt_log,
                                unsigned i)
{
    const struct attempt *attempt = &attempt_log->attempts[i],
                         *next = attempt + 1;

    return i + 1 < attempt_log->n && next->outcome == attempt->outcome &&
           strcmp(next->source, attempt->source) == 0 &&
           strcmp(next->detail, attempt->detail) == 0;
}

void attempt_log_print(const struct attempt_log *attempt_log, bool brief,
                       char *buf, size_t size)
{
    const struct attempt *attempt;
    size_t len = 0;
    unsigned i, pass;

    buf[0] = '\0';
    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < attempt_log->n; i++) {
            attempt = &attempt_log->attempts[i];
            if ((attempt->outcome == SOURCE_NOT_FOUND) != (pass == 1) ||
                (brief && attempt_is_repeated(attempt_log, i))) {
                continue;
            }
            append(buf, size, &len, "%s%s: ", len > 0 ? "; " : "",
                   attempt->source);
            if (!brief) {
                append(buf, size, &len, "%s ", attempt->place);
            }
            append(buf, size, &len, "%s (%s)",
                   source_outcome_name(attempt->outcome), attempt->detail);
        }
    }
    if (!brief && attempt_log->left_off > 0) {
        append(buf, size, &len, "; and %u more", attempt_log->left_off);
    }
}

static void add_positive(cJSON *object, const char *name, long number)
{
    if (number > 0) {
        cJSON_AddNumberToObject(object, name, (double)number);
    }
}

static cJSON *attempt_json(const struct attempt *attempt)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "source", attempt->source);
    cJSON_AddStringToObject(object, "place", attempt->place);
    cJSON_AddStringToObject(object, "form",
                            config_form_name(layout_form(attempt->place)));
    cJSON_AddStringToObject(object, "outcome",
                            source_outcome_name(attempt->outcome));
    cJSON_AddStringToObject(object, "detail", attempt->detail);
    cJSON_AddNumberToObject(object, "time", (double)attempt->at);
    cJSON_AddNumberToObject(object, "bytes", (double)attempt->bytes);
    cJSON_AddNumberToObject(object, "ms", attempt->ms);
    add_positive(object, "retry_after", attempt->retry_after);
    add_positive(object, "status", attempt->status);
    add_positive(object, "errno", attempt->errnum);
    return object;
}

cJSON *attempt_log_json(const struct attempt_log *attempt_log)
{
    cJSON *array = cJSON_CreateArray();
    unsigned i;

    for (i = 0; array != NULL && i < attempt_log->n; i++) {
        cJSON_AddItemToArray(array, attempt_json(&attempt_log->attempts[i]));
    }
    return array;
}

char *attempt_log_places(const struct attempt_log *attempt_log)
{
    static const char *const fleeting[] = {"time", "bytes", "ms",
                                           "retry_after"};
    cJSON *object, *attempts, *attempt;
    char *text;
    size_t i;

    if (attempt_log->n == 0 || attempt_log->left_off > 0) {
        return NULL;
    }
    object = cJSON_CreateObject();
    attempts = attempt_log_json(attempt_log);
    cJSON_ArrayForEach(attempt, attempts)
    {
        for (i = 0; i < sizeof(fleeting) / sizeof(fleeting[0]); i++) {
            cJSON_DeleteItemFromObject(attempt, fleeting[i]);
        }
    }
    cJSON_AddItemToObject(object, "attempts", attempts);
    text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    if (text != NULL && strlen(text) > SYMCACHE_PLACES_MAX) {
        free(text);
        return NULL;
    }
    return text;
}

cJSON *attempt_log_tier_json(const struct attempt_log *attempt_log)
{
    cJSON *object = attempt_log->tier != NULL
                        ? attempt_json(attempt_log->tier)
                        : NULL;

    cJSON_DeleteItemFromObject(object, "form");
    return object;
}

struct attempt_logs *attempt_logs_new(void)
{
    struct attempt_logs *attempt_logs = calloc(1, sizeof(*attempt_logs));

    if (attempt_logs != NULL) {
        TAILQ_INIT(&attempt_logs->by_age);
    }
    return attempt_logs;
}

static uint64_t attempt_hash(const struct attempt_logs *attempt_logs,
                             const char *id)
{
    return table_hash_text(&attempt_logs->by_id, id);
}

static void drop_log(struct attempt_logs *attempt_logs,
                     struct attempt_log *attempt_log)
{
    table_remove(&attempt_logs->by_id,
                 attempt_hash(attempt_logs, attempt_log->id),
                 (uintptr_t)attempt_log);
    TAILQ_REMOVE(&attempt_logs->by_age, attempt_log, age);
    attempt_logs->n--;
    attempt_log_free(attempt_log);
}

void attempt_logs_free(struct attempt_logs *attempt_logs)
{
    struct attempt_log *attempt_log;

    if (attempt_logs == NULL) {
        return;
    }
    while ((attempt_log = TAILQ_FIRST(&attempt_logs->by_age)) != NULL) {
        drop_log(attempt_logs, attempt_log);
    }
    table_free(&attempt_logs->by_id);
    free(attempt_logs);
}

struct attempt_log *attempt_logs_find(const struct attempt_logs *attempt_logs,
                                      const char *id)
{
    uint64_t hash = attempt_hash(attempt_logs, id);
    struct attempt_log *found;
    size_t at = 0;

    while ((found = (struct attempt_log *)table_next(&attempt_logs->by_id,
                                                     hash, &at)) != NULL &&
           strcmp(found->id, id) != 0) {
    }
    return found;
}

void attempt_logs_keep(struct attempt_logs *attempt_logs,
                       struct attempt_log *attempt_log)
{
    struct attempt_log *former =
        attempt_logs_find(attempt_logs, attempt_log->id);

    if (former != NULL) {
        drop_log(attempt_logs, former);
    }
    if (attempt_logs->n == LOGS_MAX) {
        drop_log(attempt_logs, TAILQ_FIRST(&attempt_logs->by_age));
    }

    if (table_add(&attempt_logs->by_id,
                  attempt_hash(attempt_logs, attempt_log->id),
                  (uintptr_t)attempt_log) != 0) {
        attempt_log_free(attempt_log);
        return;
    }
    TAILQ_INSERT_TAIL(&attempt_logs->by_age, attempt_log, age);
    attempt_logs->n++;
}
