/*
 * Copyright (C) the ngx_symcache authors
 */

#include <string.h>
#include "status.h"
#include "base/utf8.h"

#define STATUS_LINES 40 /* of a kind */
#define STATUS_TEXT 300

static const char *const helper_fields[] = {
    "total", "queued", "downloading", "transcoding", "waiters", NULL};

static const char *const job_fields[] = {"store",   "key",     "version",
                                         "state",   "source",  "ms",
                                         "waiters", "upgrade", NULL};

static const char *const source_fields[] = {
    "name",     "type",   "health", "not_asked_for", "found",   "not_found",
    "unusable", "failed", "bytes",  "failed_at",     "failure", NULL};

static const char *const miss_fields[] = {
    "time", "store", "key", "version", "outcome", "reason", NULL};

/* No tab, no line end, and no half character at the cut. */
static void print_text(struct evbuffer *buf, const char *text)
{
    char out[STATUS_TEXT + 1], *p;
    size_t len = strnlen(text, STATUS_TEXT);

    if (len == STATUS_TEXT) {
        while (len > 0 && ((unsigned char)text[len - 1] & 0xc0) == 0x80) {
            len--;
        }
        len -= len > 0;
    }
    memcpy(out, text, len);
    out[len] = '\0';
    utf8_mend(out);
    for (p = out; *p != '\0'; p++) {
        *p = (unsigned char)*p < ' ' || *p == 0x7f ? ' ' : *p;
    }
    evbuffer_add(buf, out, len);
}

static void print_line(struct evbuffer *buf, const char *word,
                       const char *const *fields, const cJSON *object)
{
    const cJSON *host = cJSON_GetObjectItemCaseSensitive(object, "host");
    const cJSON *item;

    evbuffer_add_printf(buf, "%s", word);
    for (; *fields != NULL; fields++) {
        evbuffer_add(buf, "\t", 1);
        item = cJSON_GetObjectItemCaseSensitive(object, *fields);
        if (item == NULL) {
            item = cJSON_GetObjectItemCaseSensitive(host, *fields);
        }
        if (cJSON_IsString(item)) {
            print_text(buf, item->valuestring);
        } else if (cJSON_IsNumber(item)) {
            evbuffer_add_printf(buf, "%.0f", item->valuedouble);
        } else if (cJSON_IsBool(item)) {
            evbuffer_add(buf, cJSON_IsTrue(item) ? "1" : "0", 1);
        }
    }
    evbuffer_add(buf, "\n", 1);
}

static void print_lines(struct evbuffer *buf, const char *word,
                        const char *const *fields, const cJSON *array)
{
    const cJSON *object;
    unsigned n = 0;

    cJSON_ArrayForEach(object, array)
    {
        if (n++ < STATUS_LINES) {
            print_line(buf, word, fields, object);
        }
    }
}

void status_print(struct evbuffer *buf, const cJSON *scheduler,
                  const cJSON *sources, const cJSON *misses)
{
    print_line(buf, "helper", helper_fields, scheduler);
    print_lines(buf, "job", job_fields,
                cJSON_GetObjectItemCaseSensitive(scheduler, "jobs"));
    print_lines(buf, "source", source_fields, sources);
    print_lines(buf, "miss", miss_fields, misses);
}
