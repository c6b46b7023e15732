/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sourcelink.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "json/json.h"

#define TEXT_MAX (1 << 20) /* bytes of JSON; real ones have some hundred */

void source_links_free(struct source_links *links)
{
    size_t i;

    for (i = 0; i < links->num_texts; i++) {
        free(links->texts[i]);
    }
    free(links->texts);
    free(links->links);
    memset(links, 0, sizeof(*links));
}

static struct symc_text sourcelink_text_of(const struct json *json,
                                           uint32_t value)
{
    struct symc_text text = {json_text(json, value), json->values[value].size};

    return text;
}

/* Finds the value of "documents" in an object, or what stands for it in an
 * array.  Returns NULL, or what is wrong. */
static const char *sourcelink_find_documents(const struct json *json,
                                             uint32_t *found)
{
    uint32_t i, name = 1;
    const struct json_value *top = &json->values[0];

    *found = 0;
    if (top->type == JSON_ARRAY && top->size == 1) {
        *found = 1;
    } else if (top->type != JSON_OBJECT) {
        return "no object";
    }
    for (i = 0; top->type == JSON_OBJECT && i < top->size; i++) {
        if (json_is(json, name, "documents")) {
            if (*found != 0) {
                return "\"documents\" twice";
            }
            *found = name + 1;
        }
        name = json->values[name + 1].end;
    }
    return *found == 0 ? "no \"documents\""
           : json->values[*found].type != JSON_OBJECT
               ? "\"documents\" is not an object"
               : NULL;
}

static const char *sourcelink_add_documents(struct source_links *links,
                                            const struct json *json)
{
    uint32_t i, at, object;
    struct source_link *link;
    const char *wrong = sourcelink_find_documents(json, &object);

    if (wrong != NULL) {
        return wrong;
    }
    if (array_need(&links->links, &links->room,
                   links->count + json->values[object].size,
                   sizeof(*links->links)) != 0) {
        return "no memory";
    }
    for (i = 0, at = object + 1; i < json->values[object].size; i++, at += 2) {
        if (json->values[at + 1].type != JSON_STRING) {
            return "a URL is not a string";
        }
        link = &links->links[links->count++];
        link->pattern = sourcelink_text_of(json, at);
        link->url = sourcelink_text_of(json, at + 1);
        link->text = (uint32_t)links->num_texts;
    }
    return NULL;
}

int source_links_add(struct source_links *links, const void *data, size_t size,
                     struct failure *failure)
{
    char *text;
    size_t count = links->count;
    struct json json = {0};
    struct json_error error = {"something after it", 0, 1, 1, false};
    const char *wrong;

    if (size > TEXT_MAX) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: its source links are too long");
    }
    text = malloc(size + 1);
    if (text == NULL ||
        array_need(&links->texts, &links->text_room, links->num_texts + 1,
                   sizeof(*links->texts)) != 0) {
        free(text);
        return failure_memory(failure);
    }
    memcpy(text, data, size);
    links->texts[links->num_texts++] = text;
    links->bytes += size;
    wrong = json_read(&json, text, size, size + 1, &error) == size && size > 0
                ? sourcelink_add_documents(links, &json)
                : error.reason;
    json_free(&json);
    if (wrong == NULL) {
        return 0;
    }
    links->count = count;
    if (error.out_of_memory) {
        return failure_memory(failure);
    }
    return failure_set(failure, FAILURE_DAMAGED,
                       "is damaged: source links: %s (line %u, column %zu)",
                       wrong, error.line, error.column);
}
