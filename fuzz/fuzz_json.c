/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: JSON from untrusted clients.  Writing what was read and reading
 * that again must give the same.
 */
#include <stdlib.h>
#include <string.h>

#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct json *json, struct json_writer *w)
{
    struct json again = {0};
    struct json_error error;
    uint32_t i;

    if (json_read(&again, w->data, w->size, SIZE_MAX, &error) != w->size ||
        again.count != json->count) {
        abort();
    }
    for (i = 0; i < json->count; i++) {
        if (again.values[i].type != json->values[i].type ||
            again.values[i].end != json->values[i].end ||
            again.values[i].size != json->values[i].size ||
            (json->values[i].type == JSON_STRING &&
             memcmp(json_text(json, i), json_text(&again, i),
                    json->values[i].size) != 0)) {
            abort();
        }
    }
    json_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json json = {0};
    struct json_error error;
    struct json_writer w = {0};
    uint64_t number;
    char *text;

    text = malloc(size > 0 ? size : 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    if (json_read(&json, text, size, 100000, &error) == 0) {
        if (error.reason == NULL || error.at > size) {
            abort(); /* refused without a reason or a place */
        }
    } else {
        json_integer(&json, 0, &number);
        w.is_python = size % 2 == 1;
        json_write_value(&w, &json, 0);
        check_again(&json, &w);
    }
    free(w.data);
    json_free(&json);
    free(text);
    return 0;
}
