/*
 * Copyright (C) the ngx_symcache authors
 */
#include "crash_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/multipart/multipart.h"

#define VALUES_MAX ((size_t)1 << 18)

static const char *const part_names[FORM_JSON_PARTS] = {
    [FORM_SOURCES] = "sources",   [FORM_SCRAPING] = "scraping",
    [FORM_OPTIONS] = "options",   [FORM_REWRITE] = "rewrite_first_module",
    [FORM_PLATFORM] = "platform",
};

static void fail_form(struct form *form, enum crash_refusal why,
                      const char *error)
{
    if (form->refusal == 0) {
        form->refusal = why;
        snprintf(form->error, sizeof(form->error), "%s", error);
    }
}

/* Is a part one value of JSON?  Returns whether it is an empty list. */
static bool check_json(struct form *form, const struct bytes *part)
{
    struct json json = {0};
    struct json_error error;
    char *copy = malloc(part->size + 1), text[200];
    bool is_empty = false;
    size_t n;

    if (copy == NULL) {
        fail_form(form, CRASH_NO_MEMORY, "out of memory");
        return false;
    }
    memcpy(copy, part->data, part->size);
    n = json_read(&json, copy, part->size, VALUES_MAX, &error);
    if (n == 0) {
        snprintf(text, sizeof(text), "%s at line %u column %zu", error.reason,
                 error.line, error.column);
        fail_form(form,
                  error.out_of_memory ? CRASH_NO_MEMORY : CRASH_BAD_PART,
                  text);
    } else if (n < part->size) {
        fail_form(form, CRASH_BAD_PART, "trailing characters");
    } else {
        is_empty =
            json.values[0].type == JSON_ARRAY && json.values[0].size == 0;
    }
    json_free(&json);
    free(copy);
    return is_empty;
}

/* Undoes the packing of bytes that say so.  Returns false if that fails. */
static bool undo_crash_packing(struct form *form, enum packing packing,
                               struct bytes *bytes)
{
    if (packing == PACKED_NOT || form->refusal != 0) {
        return form->refusal == 0;
    }
    if (packing == PACKED_OTHER) {
        fail_form(form, CRASH_BAD_CODING, "Content-Encoding is not supported");
        return false;
    }
    switch (packed_undo(&form->room, packing, bytes)) {
    case PACKED_DONE:
        return true;
    case PACKED_LARGE:
        fail_form(form, CRASH_LARGE_PART, "the request is too large");
        return false;
    default:
        fail_form(form, CRASH_BAD_PART, "the packed data is damaged");
        return false;
    }
}

static void take_form_part(void *arg, const struct multipart_part *part)
{
    struct form *form = arg;
    struct bytes bytes = {part->data, part->size};
    enum packing packing = packed_by_name(part->coding);
    bool is_empty;
    unsigned i;

    if (strcmp(part->name, form->file_name) == 0) {
        form->file = bytes;
        form->packing = packing;
        return;
    }
    for (i = 0; i < FORM_JSON_PARTS; i++) {
        if (strcmp(part->name, part_names[i]) != 0 ||
            (i == FORM_REWRITE && !form->has_rewrite)) {
            continue;
        }
        if (!undo_crash_packing(form, packing, &bytes)) {
            return;
        }
        if (bytes.size > FORM_JSON_MAX) {
            fail_form(form, CRASH_LARGE_PART, "a part is too large");
            return;
        }
        is_empty = check_json(form, &bytes);
        if (i == FORM_SOURCES) {
            form->has_no_sources = is_empty;
        }
        form->json[i] = bytes;
    }
}

/* Without a form, the body is the file, and the order has the rules for its
 * modules. */
static void form_take_file(struct form *form, const struct order *order,
                           const struct bytes *body)
{
    form->file = *body;
    if (order->rewrite != NULL) {
        form->json[FORM_REWRITE] = (struct bytes){
            (const uint8_t *)order->rewrite, strlen(order->rewrite)};
    }
}

bool form_read(struct form *form, const struct order *order,
               const struct bytes *body)
{
    struct bytes bytes = *body;
    char error[200];

    form->room.most = order->unpacked;
    if (!undo_crash_packing(form, packed_by_name(order->coding), &bytes)) {
        return false;
    }
    if (order->boundary == NULL) {
        form_take_file(form, order, &bytes);
    } else if (multipart_read(bytes.data, bytes.size, order->boundary,
                              take_form_part, form, error,
                              sizeof(error)) != 0) {
        fail_form(form, CRASH_NO_FORM, error);
    }
    form->has_no_sources = form->has_no_sources && order->has_sources;
    if (form->packing == PACKED_NOT && (order->corrections & CRASH_PACKED)) {
        form->packing = packed_by_content(&form->file);
    }
    return undo_crash_packing(form, form->packing, &form->file);
}

void form_write(const struct form *form, struct json_writer *w)
{
    unsigned i;

    for (i = 0; i < FORM_REWRITE; i++) {
        if (form->json[i].data != NULL) {
            json_put_raw(w, part_names[i], (const char *)form->json[i].data,
                         form->json[i].size);
        }
    }
}
