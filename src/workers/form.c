/*
 * Copyright (C) the ngx_symcache authors
 */
#include "form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"

#define VALUES_MAX ((size_t)1 << 18)

const char *const form_part_names[FORM_JSON_PARTS] = {
    [FORM_SOURCES] = "sources",
    [FORM_SCRAPING] = "scraping",
    [FORM_OPTIONS] = "options",
    [FORM_PLATFORM] = "platform",
};

static void fail(struct form *form, enum crash_refusal why,
                 const char *error)
{
    if (form->refusal == 0) {
        form->refusal = why;
        snprintf(form->error, sizeof(form->error), "%s", error);
    }
}

/* Is a part one value of JSON? */
static void check_json(struct form *form, const struct multipart_part *part)
{
    struct json json = {0};
    struct json_error error;
    char *copy = malloc(part->size + 1), text[200];
    size_t n;

    if (copy == NULL) {
        fail(form, CRASH_NO_MEMORY, "out of memory");
        return;
    }
    memcpy(copy, part->data, part->size);
    n = json_read(&json, copy, part->size, VALUES_MAX, &error);
    if (n == 0) {
        snprintf(text, sizeof(text), "%s at line %u column %zu", error.reason,
                 error.line, error.column);
        fail(form, CRASH_BAD_PART, text);
    } else if (n < part->size) {
        fail(form, CRASH_BAD_PART, "trailing characters");
    }
    json_free(&json);
    free(copy);
}

static void take(void *arg, const struct multipart_part *part)
{
    struct form *form = arg;
    unsigned i;

    if (strcmp(part->name, form->file_name) == 0) {
        form->file = (struct form_bytes){part->data, part->size};
        return;
    }
    for (i = 0; i < FORM_JSON_PARTS; i++) {
        if (strcmp(part->name, form_part_names[i]) != 0) {
            continue;
        }
        if (part->size > FORM_JSON_MAX) {
            fail(form, CRASH_LARGE_PART, "a part is too large");
            return;
        }
        check_json(form, part);
        form->json[i] = (struct form_bytes){part->data, part->size};
    }
}

bool form_read(struct form *form, const uint8_t *data, size_t size,
               const char *boundary)
{
    char error[200];

    if (multipart_read(data, size, boundary, take, form, error,
                       sizeof(error)) != 0) {
        fail(form, CRASH_NO_FORM, error);
    }
    return form->refusal == 0;
}
