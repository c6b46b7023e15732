/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_headers.h"
#include "reserved_headers.h"
#include "schema.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define HEADERS_MAX 16
#define HEADERS_SIZE 8192 /* bytes of all names and values */

/* Headers are read by their names, in the order of these. */
static int js_headers_compare(struct symc_string a, struct symc_string b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? strncasecmp(a.data, b.data, size) : 0;

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static bool is_name(struct symc_string text)
{
    size_t i;

    for (i = 0; i < text.size; i++) {
        if (!isalnum((unsigned char)text.data[i]) &&
            (text.data[i] == '\0' ||
             strchr("!#$%&'*+-.^_`|~", text.data[i]) == NULL)) {
            return false;
        }
    }
    return text.size > 0;
}

bool js_header_is_value(struct symc_string text)
{
    size_t i;

    for (i = 0; i < text.size; i++) {
        if (((unsigned char)text.data[i] < ' ' && text.data[i] != '\t') ||
            text.data[i] == 0x7F) {
            return false;
        }
    }
    return text.size <= JS_HEADER_SIZE &&
           (text.size < 2 || memcmp(text.data, "@/", 2) != 0);
}

const char *js_headers_mistake(const struct js_request *request)
{
    const struct json *json = &request->json;
    struct symc_string names[HEADERS_MAX];
    uint32_t i;
    size_t size = 0, n = 0, k;

    for (i = request->headers + 1;
         request->headers != 0 && i < json->values[request->headers].end;
         i = json->values[i + 1].end) {
        if (n == HEADERS_MAX) {
            return "scraping.headers: more than 16";
        }
        names[n] = schema_text(&request->json, i);
        if (!is_name(names[n])) {
            return "scraping.headers: one has no name of a header";
        }
        if (header_is_reserved(names[n])) {
            return "scraping.headers: one is not a request's to set, such as "
                   "Host or Range";
        }
        for (k = 0; k < n; k++) {
            if (js_headers_compare(names[k], names[n]) == 0) {
                return "scraping.headers: one is there twice";
            }
        }
        if (json->values[i + 1].type != JSON_STRING ||
            !js_header_is_value(schema_text(&request->json, i + 1))) {
            return "scraping.headers: one has no value of a header";
        }
        size += names[n++].size + json->values[i + 1].size;
    }
    return size <= HEADERS_SIZE ? NULL
                                : "scraping.headers: more than 8192 bytes";
}

/* The first header behind one, of which the name may be absent; or 0. */
static uint32_t next_header(const struct js_request *request, uint32_t before)
{
    const struct json *json = &request->json;
    struct symc_string last = schema_text(&request->json, before), name;
    uint32_t i, next = 0;

    for (i = request->headers + 1; i < json->values[request->headers].end;
         i = json->values[i + 1].end) {
        name = schema_text(&request->json, i);
        if ((before == 0 || js_headers_compare(name, last) > 0) &&
            (next == 0 || js_headers_compare(
                              name, schema_text(&request->json, next)) < 0)) {
            next = i;
        }
    }
    return next;
}

void js_headers_write(const struct js_request *request, struct json_writer *w)
{
    uint32_t i = request->headers != 0 ? next_header(request, 0) : 0;
    struct symc_string text;

    if (i == 0) {
        return;
    }
    json_put_open(w, "scraped_headers", '{');
    for (; i != 0; i = next_header(request, i)) {
        text = schema_text(&request->json, i);
        json_write_name(w, text.data, text.size);
        text = schema_text(&request->json, i + 1);
        json_write_string(w, text.data, text.size);
    }
    json_write_close(w, '}');
}
