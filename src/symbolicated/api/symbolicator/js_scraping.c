/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_scraping.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "js_wants.h"
#include "schema.h"

/* "scraping.allowed_origins" ----------------------------------------------- */

/* Each file is compared with all of them. */
#define ORIGINS_MAX 1000
#define ORIGINS_SIZE 65536 /* bytes */

const char *js_origins_mistake(const struct js_request *request)
{
    const struct json_value *values = request->json.values;
    uint32_t i, list = request->origins;
    size_t size = 0;

    for (i = list + 1; list != 0 && i < values[list].end; i = values[i].end) {
        size += values[i].size;
    }
    if (size > ORIGINS_SIZE) {
        return "scraping.allowed_origins: more than 65536 bytes";
    }
    return list != 0 && values[list].size > ORIGINS_MAX
               ? "scraping.allowed_origins: more than 1000"
               : NULL;
}

/* A URL or a pattern, taken to pieces. */
struct js_origin_parts {
    struct symc_string scheme; /* data is NULL: any */
    struct symc_string host;   /* with the port of a pattern */
    struct symc_string name;   /* the same without it */
    struct symc_string port;   /* data is NULL: none is said */
    struct symc_string path;   /* without the slash before it */
};

static bool scraping_is_text(struct symc_string a, const char *text)
{
    return a.size == strlen(text) && strncasecmp(a.data, text, a.size) == 0;
}

static bool scraping_is_same(struct symc_string a, struct symc_string b)
{
    return a.size == b.size && strncasecmp(a.data, b.data, a.size) == 0;
}

static void split_scraping_origin(struct symc_string text,
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
static struct symc_string scraping_port_of(const struct js_origin_parts *url)
{
    if (url->port.data != NULL) {
        return url->port;
    }
    return scraping_is_text(url->scheme, "https")
               ? (struct symc_string){"443", 3}
               : (struct symc_string){"80", 2};
}

static bool scraping_fits_host(const struct js_origin_parts *url,
                               const struct js_origin_parts *pattern)
{
    struct symc_string below = pattern->host;

    if (scraping_is_text(pattern->host, "*")) {
        return true;
    }
    if (below.size > 2 && memcmp(below.data, "*.", 2) == 0) {
        below.data += 2; /* the domain and all below it; port and path do not
                            count */
        below.size -= 2;
        return scraping_is_same(url->name, below) ||
               (url->name.size > below.size &&
                url->name.data[url->name.size - below.size - 1] == '.' &&
                strncasecmp(url->name.data + url->name.size - below.size,
                            below.data, below.size) == 0);
    }
    return (scraping_is_text(pattern->name, "*") ||
            scraping_is_same(url->name, pattern->name)) &&
           (pattern->port.data == NULL ||
            scraping_is_same(scraping_port_of(url), pattern->port));
}

/* As upstream, a path of a pattern is compared with one that begins with a
 * slash, so that it matches nothing unless it is empty or "*". */
static bool scraping_fits_origin(const struct js_origin_parts *url,
                                 struct symc_string text)
{
    struct js_origin_parts pattern;

    split_scraping_origin(text, &pattern);
    return (pattern.scheme.data == NULL ||
            scraping_is_text(pattern.scheme, "*") ||
            scraping_is_same(url->scheme, pattern.scheme)) &&
           scraping_fits_host(url, &pattern) &&
           (pattern.path.size == 0 || scraping_is_text(pattern.path, "*") ||
            (pattern.host.size > 2 &&
             memcmp(pattern.host.data, "*.", 2) == 0));
}

/* NULL: the origins of the request allow a URL; else why not, which may be
 * "". */
static const char *scraping_refused_by(const struct js_request *request,
                                       struct symc_string url)
{
    const struct json *json = &request->json;
    struct js_origin_parts parts;
    struct symc_string text;
    uint32_t i;

    split_scraping_origin(url, &parts);
    if (!scraping_is_text(parts.scheme, "http") &&
        !scraping_is_text(parts.scheme, "https")) {
        return "not an HTTP(S) URL";
    }
    if (request->origins == 0) {
        return parts.name.size > 0 ? NULL : "";
    }
    for (i = request->origins + 1; i < json->values[request->origins].end;
         i = json->values[i].end) {
        text = schema_text(&request->json, i);
        if (scraping_is_text(text, "*") || scraping_is_same(text, url) ||
            scraping_fits_origin(&parts, text)) {
            return parts.name.size > 0 ? NULL : "";
        }
    }
    return "the origin is not allowed";
}

/* -------------------------------------------------------------------------- */

/* Is a text an absolute URL, of whatever scheme? */
static bool is_url(struct symc_string text)
{
    size_t i;

    for (i = 0; i < text.size; i++) {
        if (text.data[i] == ':') {
            return i > 0;
        }
        if (!isalpha((unsigned char)text.data[i]) &&
            (i == 0 || (!isdigit((unsigned char)text.data[i]) &&
                        strchr("+.-", text.data[i]) == NULL))) {
            return false;
        }
    }
    return false;
}

void js_scraping_note(struct js_files *files, struct symc_string url,
                      const char *reason, const char *details,
                      bool is_success)
{
    struct js_attempt *attempt =
        url.data != NULL ? js_files_take(files, sizeof(*attempt)) : NULL;

    if (attempt != NULL) {
        *attempt = (struct js_attempt){files->attempts, url, reason, details,
                                       is_success};
        files->attempts = attempt;
    }
}

/* Why a file could not be fetched, by its module's state. */
static const char *scraping_reason_of(const struct api_module *module)
{
    return module == NULL                          ? "download_error"
           : module->state == API_MODULE_MISSING   ? "not_found"
           : module->state == API_MODULE_LATE      ? "timeout"
                                                   : "download_error";
}

static void note_web(struct js_files *files, struct js_file *file,
                     struct symc_string url, const char *answer,
                     const struct api_module *module)
{
    js_files_note(
        files, file,
        &(struct js_asked){
            .what = "web", .key = url, .answer = answer, .module = module});
}

void js_scraping_find(struct js_files *files, enum sourcecache_type type,
                      struct symc_string url, struct js_file *file)
{
    struct js_want *want;
    const char *refused, *answer;
    const char *fragment = memchr(url.data, '#', url.size);
    size_t size = fragment != NULL ? (size_t)(fragment - url.data) : url.size;
    uint64_t since = 0;
    char *uri;

    file->state = JS_FILE_MISSING;
    if (!is_url(url)) {
        return;
    }
    if (!files->has_scraping) {
        file->is_disabled = true;
        note_web(files, file, url, "disabled", NULL);
        js_scraping_note(files, url, "disabled", NULL, false);
        return;
    }
    refused = scraping_refused_by(files->request, url);
    if (refused != NULL) {
        note_web(files, file, url, "refused: no such origin", NULL);
        js_scraping_note(files, url, "invalid_host",
                         refused[0] != '\0' ? refused : NULL, false);
        return;
    }
    want = js_want_url(files, url, true, true, &since);
    js_want_take(file, want);
    answer = want == NULL ? "refused: too long, or no such URL"
             : file->state != JS_FILE_FOUND ? NULL
             : file->text.size == 0         ? "empty"
             : type != SOURCECACHE_MAP && !js_want_is_utf8(file)
                 ? "not UTF-8"
                 : NULL;
    note_web(files, file, url, answer, js_want_module(want));
    if (file->state == JS_FILE_FOUND && answer != NULL) {
        file->state = JS_FILE_MISSING;
        js_scraping_note(files, url,
                         file->text.size == 0 ? "not_found" : "other", NULL,
                         false);
    } else if (file->state == JS_FILE_FOUND) {
        uri = js_files_take(files, size + 24);
        if (uri != NULL) {
            file->uri.data = uri;
            file->uri.size = (size_t)snprintf(uri, size + 24, "%.*s#%llu",
                                              (int)size, url.data,
                                              (unsigned long long)since);
        }
        file->resolved_with = "scraping";
        js_scraping_note(files, url, NULL, NULL, true);
    } else if (file->state == JS_FILE_MISSING) {
        js_scraping_note(files, url, scraping_reason_of(js_want_module(want)),
                         NULL, false);
    }
}
