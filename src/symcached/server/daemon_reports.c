/*
 * Copyright (C) the ngx_symcache authors
 */

#include "daemon_reports.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"

#define REPORTS_MAX 16
#define TEXT_SIZE 129
#define VALID_MAX 300     /* seconds */
#define NUMBER_MAX (1e15) /* a double counts to 2^53 */

enum { NAME, VERSION, LISTEN, TEXTS };
enum {
    STARTED,
    REQUESTS,
    FRAMES,
    DUMPS,
    APPLE,
    SOURCES,
    MAPPINGS,
    PROGRAMS,
    NUMBERS
};

static const char *const texts[TEXTS] = {"name", "version", "listen"};
static const char *const numbers[NUMBERS] = {
    "started",       "requests", "frames",   "dumps",
    "apple_reports", "sources",  "mappings", "programs"};

struct daemon_report {
    char texts[TEXTS][TEXT_SIZE];
    double numbers[NUMBERS];
    bool config_stale;
    time_t time;    /* of the report */
    uint64_t until; /* clock_ms() */
};

struct daemon_reports {
    struct daemon_report list[REPORTS_MAX];
};

struct daemon_reports *daemon_reports_new(void)
{
    return calloc(1, sizeof(struct daemon_reports));
}

void daemon_reports_free(struct daemon_reports *reports)
{
    free(reports);
}

static bool read_texts(struct daemon_report *report, const cJSON *object)
{
    const char *text;
    size_t i, size;

    for (i = 0; i < TEXTS; i++) {
        text = cJSON_GetStringValue(
            cJSON_GetObjectItemCaseSensitive(object, texts[i]));
        size = text != NULL ? strlen(text) : 0;
        if (size == 0 || size >= TEXT_SIZE) {
            return false;
        }
        memcpy(report->texts[i], text, size + 1);
    }
    return true;
}

/* NaN is no number of a range, either. */
static bool daemon_read_number(const cJSON *object, const char *name,
                               double min, double max, double *number)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    *number = cJSON_IsNumber(item) ? item->valuedouble : -1;
    return *number >= min && *number <= max;
}

static const char *read_report(struct daemon_report *report,
                               const cJSON *object)
{
    double valid;
    size_t i;

    if (!read_texts(report, object)) {
        return "name, version and listen must be texts of 1 to 128 bytes";
    }
    for (i = 0; i < NUMBERS; i++) {
        if (i >= DUMPS &&
            cJSON_GetObjectItemCaseSensitive(object, numbers[i]) == NULL) {
            report->numbers[i] = 0; /* an older release does not send it */
        } else if (!daemon_read_number(object, numbers[i], 0, NUMBER_MAX,
                                       &report->numbers[i])) {
            return "started, requests, frames, dumps, apple_reports, "
                   "sources and mappings must be numbers";
        }
    }
    if (!daemon_read_number(object, "valid", 1, VALID_MAX, &valid)) {
        return "valid must be 1 to 300 seconds";
    }
    report->config_stale =
        cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "config_stale"));
    report->time = time(NULL);
    report->until = clock_ms() + (uint64_t)(valid * 1000);
    return NULL;
}

static bool is_valid(const struct daemon_report *report, uint64_t now)
{
    return report->until > now;
}

/* The place of a report: that of its predecessor, or one that is free. */
static struct daemon_report *
daemon_find_place(struct daemon_reports *reports,
                  const struct daemon_report *report)
{
    struct daemon_report *at, *place = NULL;
    uint64_t now = clock_ms();

    for (at = reports->list; at < reports->list + REPORTS_MAX; at++) {
        if (!is_valid(at, now)) {
            place = at;
        } else if (strcmp(at->texts[NAME], report->texts[NAME]) == 0 &&
                   strcmp(at->texts[LISTEN], report->texts[LISTEN]) == 0) {
            return at;
        }
    }
    return place;
}

const char *daemon_reports_take(struct daemon_reports *reports,
                                const char *text, size_t size)
{
    char copy[REPORT_SIZE_MAX + 1];
    struct daemon_report report, *place;
    const char *wrong;
    cJSON *object;

    if (size == 0 || size > REPORT_SIZE_MAX) {
        return "it has 1 to 2048 bytes";
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    object = cJSON_Parse(copy);
    if (object == NULL) {
        return "it is not JSON";
    }
    wrong = read_report(&report, object);
    cJSON_Delete(object);
    if (wrong != NULL) {
        return wrong;
    }
    place = daemon_find_place(reports, &report);
    if (place == NULL) {
        return "there are too many daemons";
    }
    *place = report;
    return NULL;
}

cJSON *daemon_reports_json(struct daemon_reports *reports)
{
    cJSON *array = cJSON_CreateArray(), *object;
    uint64_t now = clock_ms();
    const struct daemon_report *at;
    size_t i;

    for (at = reports->list; at < reports->list + REPORTS_MAX; at++) {
        if (!is_valid(at, now)) {
            continue;
        }
        object = cJSON_CreateObject();
        for (i = 0; i < TEXTS; i++) {
            cJSON_AddStringToObject(object, texts[i], at->texts[i]);
        }
        for (i = 0; i < NUMBERS; i++) {
            cJSON_AddNumberToObject(object, numbers[i], at->numbers[i]);
        }
        cJSON_AddBoolToObject(object, "config_stale", at->config_stale);
        cJSON_AddNumberToObject(object, "reported", (double)at->time);
        cJSON_AddItemToArray(array, object);
    }
    return array;
}
