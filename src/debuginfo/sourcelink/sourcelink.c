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

static struct symc_text text_of(const struct json *json, uint32_t value)
{
    struct symc_text text = {json_text(json, value), json->values[value].size};

    return text;
}

/* Finds the value of "documents" in an object, or what stands for it in an
 * array.  Returns NULL, or what is wrong. */
static const char *find_documents(const struct json *json, uint32_t *found)
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

static const char *add_documents(struct source_links *links,
                                 const struct json *json)
{
    uint32_t i, at, object;
    struct source_link *link;
    const char *wrong = find_documents(json, &object);

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
        link->pattern = text_of(json, at);
        link->url = text_of(json, at + 1);
        link->text = (uint32_t)links->num_texts;
        link->is_prefix = link->pattern.size > 0 &&
                          link->pattern.data[link->pattern.size - 1] == '*';
        link->pattern.size -= link->is_prefix ? 1 : 0;
    }
    return NULL;
}

int source_links_add(struct source_links *links, const void *data, size_t size,
                     struct failure *failure)
{
    char *text;
    size_t count = links->count;
    struct json json = {0};
    struct json_error error = {"something after it", 0, 1, 1};
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
                ? add_documents(links, &json)
                : error.reason;
    json_free(&json);
    if (wrong == NULL) {
        return 0;
    }
    links->count = count;
    return failure_set(failure, FAILURE_DAMAGED,
                       "is damaged: source links: %s (line %u, column %zu)",
                       wrong, error.line, error.column);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Does a link fit a path? */
static bool fits_link(const struct source_link *link, const char *path,
                      size_t size)
{
    size_t i, n = link->pattern.size;

    if (link->is_prefix ? size < n : size != n) {
        return false;
    }
    for (i = 0; i < n && lower(link->pattern.data[i]) == lower(path[i]); i++) {
    }
    return i == n;
}

/* Of two links that fit, is a the better one?  If their patterns are equal but
 * for case, the link of the later JSON text is, and within one text the one
 * whose pattern is greater in the order of bytes. */
static bool is_better(const struct source_link *a, const struct source_link *b)
{
    if (a->is_prefix != b->is_prefix) {
        return b->is_prefix;
    }
    if (a->pattern.size != b->pattern.size) {
        return a->pattern.size > b->pattern.size;
    }
    return a->text != b->text ||
           memcmp(a->pattern.data, b->pattern.data, a->pattern.size) >= 0;
}

/* Returns the URL with the rest of a path for each "*". */
static char *insert_rest(const struct symc_text *url, const char *rest,
                         size_t rest_size)
{
    char *p, *made;
    size_t i, k, stars = 0;

    for (i = 0; i < url->size; i++) {
        stars += url->data[i] == '*';
    }
    made = p = malloc(url->size + stars * rest_size + 1);
    for (i = 0; made != NULL && i < url->size; i++) {
        if (url->data[i] != '*') {
            *p++ = url->data[i];
            continue;
        }
        for (k = 0; k < rest_size; k++) {
            *p++ = rest[k] == '\\' ? '/' : rest[k];
        }
    }
    if (made != NULL) {
        *p = '\0';
    }
    return made;
}

char *source_links_url(const struct source_links *links, const char *path,
                       size_t size)
{
    size_t i;
    const struct source_link *link, *best = NULL;

    for (i = 0; i < links->count; i++) {
        link = &links->links[i];
        if (fits_link(link, path, size) &&
            (best == NULL || is_better(link, best))) {
            best = link;
        }
    }
    if (best == NULL) {
        return NULL;
    }
    if (!best->is_prefix) {
        return insert_rest(&best->url, "*", 1); /* as it is */
    }
    return insert_rest(&best->url, path + best->pattern.size,
                       size - best->pattern.size);
}
