/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_origins.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "schema.h"

/* A URL or a pattern, taken to pieces. */
struct js_origin_parts {
    struct symc_string scheme; /* data is NULL: any */
    struct symc_string host;   /* with the port of a pattern */
    struct symc_string name;   /* the same without it */
    struct symc_string port;   /* data is NULL: none is said */
    struct symc_string path;   /* without the slash before it */
};

static bool is_text(struct symc_string a, const char *text)
{
    return a.size == strlen(text) && strncasecmp(a.data, text, a.size) == 0;
}

static bool is_same(struct symc_string a, struct symc_string b)
{
    return a.size == b.size && strncasecmp(a.data, b.data, a.size) == 0;
}

static void split_origin(struct symc_string text,
                         struct js_origin_parts *parts)
{
    const char *p = text.data, *end = text.data + text.size, *mark;

    memset(parts, 0, sizeof(*parts));
    mark = memmem(p, text.size, "://", 3);
    if (mark != NULL) {
        parts->scheme = (struct symc_string){p, (size_t)(mark - p)};
        p = mark + 3;
    }
    mark = p;
    while (mark < end && strchr("/?#", *mark) == NULL) {
        mark++;
    }
    parts->host = parts->name = (struct symc_string){p, (size_t)(mark - p)};
    if (mark < end) {
        parts->path = (struct symc_string){
            mark + (*mark == '/'), (size_t)(end - mark) - (*mark == '/')};
    }
    for (mark = p + parts->host.size;
         mark > p && isdigit((unsigned char)mark[-1]); mark--) {
    }
    if (mark > p && mark[-1] == ':') {
        parts->name.size = (size_t)(mark - 1 - p);
        parts->port = (struct symc_string){mark, parts->host.size -
                                                     parts->name.size - 1};
    }
}

/* The port that a URL has, if it does not say one. */
static struct symc_string port_of(const struct js_origin_parts *url)
{
    if (url->port.data != NULL) {
        return url->port;
    }
    return is_text(url->scheme, "https") ? (struct symc_string){"443", 3}
                                         : (struct symc_string){"80", 2};
}

static bool fits_host(const struct js_origin_parts *url,
                      const struct js_origin_parts *pattern)
{
    struct symc_string below = pattern->host;

    if (is_text(pattern->host, "*")) {
        return true;
    }
    if (below.size > 2 && memcmp(below.data, "*.", 2) == 0) {
        below.data += 2; /* the domain and all below it; port and path do not
                            count */
        below.size -= 2;
        return is_same(url->name, below) ||
               (url->name.size > below.size &&
                url->name.data[url->name.size - below.size - 1] == '.' &&
                strncasecmp(url->name.data + url->name.size - below.size,
                            below.data, below.size) == 0);
    }
    return (is_text(pattern->name, "*") ||
            is_same(url->name, pattern->name)) &&
           (pattern->port.data == NULL ||
            is_same(port_of(url), pattern->port));
}

/* As upstream, a path of a pattern is compared with one that begins with a
 * slash, so that it matches nothing unless it is empty or "*". */
static bool fits_origin(const struct js_origin_parts *url,
                        struct symc_string text)
{
    struct js_origin_parts pattern;

    split_origin(text, &pattern);
    return (pattern.scheme.data == NULL || is_text(pattern.scheme, "*") ||
            is_same(url->scheme, pattern.scheme)) &&
           fits_host(url, &pattern) &&
           (pattern.path.size == 0 || is_text(pattern.path, "*") ||
            (pattern.host.size > 2 &&
             memcmp(pattern.host.data, "*.", 2) == 0));
}

const char *js_origins_refuse(const struct js_request *request,
                              struct symc_string url)
{
    const struct json *json = &request->json;
    struct js_origin_parts parts;
    struct symc_string text;
    uint32_t i;

    split_origin(url, &parts);
    if (!is_text(parts.scheme, "http") && !is_text(parts.scheme, "https")) {
        return "not an HTTP(S) URL";
    }
    if (request->origins == 0) {
        return parts.name.size > 0 ? NULL : "";
    }
    for (i = request->origins + 1; i < json->values[request->origins].end;
         i = json->values[i].end) {
        text = schema_text(&request->json, i);
        if (is_text(text, "*") || is_same(text, url) ||
            fits_origin(&parts, text)) {
            return parts.name.size > 0 ? NULL : "";
        }
    }
    return "the origin is not allowed";
}
