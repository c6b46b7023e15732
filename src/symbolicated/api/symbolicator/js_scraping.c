/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_scraping.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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

void js_scraping_note(struct js_files *files, struct symc_string url,
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

void js_scraping_find(struct js_files *files, struct symc_string url,
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
        js_scraping_note(files, url, "disabled", NULL, false);
        return;
    }
    refused = js_origins_refuse(files->request, url);
    if (refused != NULL) {
        note_web(files, file, url, "refused: no such origin", NULL);
        js_scraping_note(files, url, "invalid_host",
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
        js_scraping_note(files, url, NULL, NULL, true);
    } else if (file->state == JS_FILE_MISSING) {
        js_scraping_note(files, url, reason_of(js_file_request_module(want)),
                         NULL, false);
    }
}
