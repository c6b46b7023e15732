/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_files.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "symbolication/js/js.h"

#include "absence_reason.h"
#include "js_artifacts.h"
#include "js_file_requests.h"
#include "js_origins.h"

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

/* A file that was looked for in this step. */
struct js_entry {
    struct symc_string url;
    const char *debug_id;
    enum sourcecache_type type;
    struct js_file file;
};

void *js_take(struct js_files *files, size_t size)
{
    void *piece = arena_take(&files->arena, size);

    files->has_failed = files->has_failed || piece == NULL;
    if (piece != NULL) {
        memset(piece, 0, size);
    }
    return piece;
}

bool js_is_equal(struct symc_string a, struct symc_string b)
{
    return a.size == b.size && (a.data != NULL) == (b.data != NULL) &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

int js_compare(struct symc_string a, struct symc_string b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int n = size > 0 ? memcmp(a.data, b.data, size) : 0;

    return n != 0 ? n : (a.size > b.size) - (a.size < b.size);
}

uint64_t js_hash(const struct js_files *files, struct symc_string text)
{
    return table_hash((uintptr_t)files, text.size > 0 ? text.data : "",
                      text.size);
}

void js_table_add(struct js_files *files, struct table *table, uint64_t hash,
                  const void *value)
{
    if (table_add(table, hash, (uintptr_t)value) != 0) {
        files->has_failed = true;
    }
}

void js_files_note(struct js_files *files, struct js_file *file,
                   const struct js_asked *asked)
{
    struct js_asked *own =
        files->tells_why ? js_take(files, sizeof(*own)) : NULL;
    struct js_asked **at = &file->asked;

    if (own != NULL) {
        *own = *asked;
        while (*at != NULL) {
            at = &(*at)->next;
        }
        *at = own;
        if (own->answer == NULL) {
            own->answer = absence_state(own->module);
        }
    }
}

void js_files_begin(struct js_files *files)
{
    arena_reset(&files->arena);
    table_free(&files->entries);
    table_free(&files->artifacts);
    files->bundles = NULL;
    files->are_bundles_pending = false;
    files->listed = files->told = 0;
    files->attempts = NULL;
}

void js_files_free(struct js_files *files)
{
    js_file_requests_free(files);
    table_free(&files->entries);
    table_free(&files->artifacts);
    arena_free(&files->arena);
}

/* the web ------------------------------------------------------------------
 */

static void add_attempt(struct js_files *files, struct symc_string url,
                        const char *reason, const char *details,
                        bool is_success)
{
    struct js_attempt *attempt =
        url.data != NULL ? js_take(files, sizeof(*attempt)) : NULL;

    if (attempt != NULL) {
        *attempt = (struct js_attempt){files->attempts, url, reason, details,
                                       is_success};
        files->attempts = attempt;
    }
}

/* Why a file could not be fetched, by its module's state. */
static const char *reason_of(const struct api_module *module)
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

static void scrape_file(struct js_files *files, struct symc_string url,
                        struct js_file *file)
{
    struct js_want *want;
    const char *refused;
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
        add_attempt(files, url, "disabled", NULL, false);
        return;
    }
    refused = js_origins_refuse(files->request, url);
    if (refused != NULL) {
        note_web(files, file, url, "refused: no such origin", NULL);
        add_attempt(files, url, "invalid_host",
                    refused[0] != '\0' ? refused : NULL, false);
        return;
    }
    want = js_file_request_url(files, url, true, true, &since);
    js_file_request_take(file, want);
    note_web(files, file, url,
             want == NULL ? "refused: too long, or no such URL" : NULL,
             js_file_request_module(want));
    if (file->state == JS_FILE_FOUND) {
        uri = js_take(files, size + 24);
        if (uri != NULL) {
            file->uri.data = uri;
            file->uri.size = (size_t)snprintf(uri, size + 24, "%.*s#%llu",
                                              (int)size, url.data,
                                              (unsigned long long)since);
        }
        file->resolved_with = "scraping";
        add_attempt(files, url, NULL, NULL, true);
    } else if (file->state == JS_FILE_MISSING) {
        add_attempt(files, url, reason_of(js_file_request_module(want)), NULL,
                    false);
    }
}

/* all of it ---------------------------------------------------------------- */

static void find_file(struct js_files *files, enum sourcecache_type type,
                      struct symc_string url, const char *debug_id,
                      struct js_file *file)
{
    if (!js_artifacts_find(files, type, url, debug_id, file)) {
        if (!js_artifacts_ask(files, url, debug_id, file)) {
            file->state = JS_FILE_PENDING;
            return;
        }
        if (!js_artifacts_find(files, type, url, debug_id, file)) {
            if (url.data != NULL) {
                scrape_file(files, url, file);
            } else {
                file->state = JS_FILE_MISSING;
            }
            return;
        }
    }
    add_attempt(files, url, NULL, NULL, false);
}

const struct js_file *js_files_find(struct js_files *files,
                                    enum sourcecache_type type,
                                    struct symc_string url,
                                    const char *debug_id)
{
    static const struct js_file none = {.state = JS_FILE_MISSING};
    uint64_t hash = js_hash(files, url);
    struct js_entry *entry;
    size_t at = 0;

    while ((entry = (struct js_entry *)table_next(&files->entries, hash,
                                                  &at)) != NULL) {
        if (js_is_equal(entry->url, url) && entry->type == type &&
            strcmp(entry->debug_id, debug_id) == 0) {
            return &entry->file;
        }
    }
    entry = js_take(files, sizeof(*entry));
    if (entry == NULL) {
        return &none;
    }
    entry->url = url;
    entry->debug_id = debug_id;
    entry->type = type;
    entry->file.resolved_with = "unknown";
    find_file(files, type, url, debug_id, &entry->file);
    js_table_add(files, &files->entries, hash, entry);
    return &entry->file;
}
