/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /symbolicate-js: stacks of scripts become those of their originals.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "symbolicated/api/request_limit.h"
#include "native_call.h"
#include "js_answer.h"
#include "js_headers.h"
#include "js_scraping.h"
#include "js_wants.h"
#include "proto/url.h"
#include "short_answer.h"

struct js_call {
    struct api_call api; /* first */
    const struct symbolication_config *config;
    struct js_request request;
    size_t body_size;
    bool is_counted;
    struct json_writer tenant; /* api.tenant */
    struct js_files files;
    struct js_module *modules;   /* of each script */
    struct js_place *places;     /* of each frame */
    size_t scripts[API_SCRIPTS]; /* api.scripts */
};

/* Scripts are read through for the comments that refer to their maps, and
 * originals for their lines: of more than this, not in the loop. */
#define LARGE_SIZE (1024 * 1024)

static request_count js_running; /* requests that are posted */

/* Has a file not come in time? */
static bool is_js_late(const struct js_call *call)
{
    const struct api_round *round;

    for (round = call->api.round; round != NULL; round = round->before) {
        if (symbolicator_round_is_late(round)) {
            return true;
        }
    }
    return false;
}

static bool js_call_is_large(const struct api_call *api)
{
    const struct api_round *round;
    const struct api_module *module;
    uint64_t size = 0;
    size_t i;

    for (round = api->round; round != NULL; round = round->before) {
        for (i = 0; i < round->nmodules; i++) {
            module = &round->modules[i];
            if (module->state == API_MODULE_FOUND &&
                module->key.kind == SYMCACHE_KIND_SOURCE) {
                size += module->size;
            }
        }
    }
    return size > LARGE_SIZE;
}

/* What became of a frame.  Where fetching is off, what is missing is so all
 * the same. */
static enum api_script js_outcome_of(const struct js_place *place)
{
    const struct js_module *module = place->module;

    if (place->is_found) {
        return API_SCRIPT_MAPPED;
    }
    switch (place->error) {
    case JS_ERROR_LOCATION:
        return API_SCRIPT_NO_PLACE;
    case JS_ERROR_MALFORMED:
        return API_SCRIPT_MALFORMED;
    case JS_NO_ERROR:
        return API_SCRIPT_PLAIN;
    default:
        return module->script->state == JS_FILE_FOUND ? API_SCRIPT_NO_MAP
                                                      : API_SCRIPT_NO_SCRIPT;
    }
}

static bool is_js_unfound(const struct js_module *module)
{
    return module->is_wanted && module->cache == NULL &&
           (module->error == JS_ERROR_SOURCE ||
            module->error == JS_ERROR_MAP ||
            module->error == JS_ERROR_DISABLED);
}

static void count_js_outcomes(struct js_call *call)
{
    size_t i;

    memset(call->scripts, 0, sizeof(call->scripts));
    for (i = 0; i < call->request.nframes; i++) {
        call->scripts[js_outcome_of(&call->places[i])]++;
    }
    call->api.scripts = call->scripts;
    call->api.unfound = 0;
    for (i = 0; i < call->request.nscripts; i++) {
        call->api.unfound += is_js_unfound(&call->modules[i]);
    }
}

static enum api_next js_step(struct api_call *api, struct api_reply *reply)
{
    struct js_call *call = (struct js_call *)api;
    bool has_all_lines = (call->config->symbolicator.corrections &
                          1u << CORRECTION_MAP_LINES) != 0;

    if (!is_js_late(call) && !api->lacks_tenant) {
        js_files_begin(&call->files);
        if (!js_modules_find(&call->files, call->modules, call->places,
                             has_all_lines) &&
            js_wants_round(&call->files, api)) {
            return API_WANTS;
        }
    }
    api_reply_header(reply, "Cache-Control", "no-store");
    if (is_js_late(call)) {
        answer_late(&call->api, reply);
        return API_FINISHED;
    }
    if (api->lacks_tenant) {
        answer_later(reply, "the source has no store here for now");
        return API_FINISHED;
    }
    api->left_out = call->files.left_out;
    reply->status = 200;
    reply->type = ANSWER_JSON_TYPE;
    if (call->files.has_failed ||
        (call->files.told <= call->files.most &&
         js_answer_write(&call->files, call->places, reply->body) != 0)) {
        answer_text(reply, 503, "out of memory");
    } else if (call->files.told > call->files.most ||
               reply->body->size > call->files.most) {
        answer_text(reply, 422, "the answer is too large: ask for less");
    } else {
        count_js_outcomes(call);
    }
    return API_FINISHED;
}

static void js_release(struct api_call *api)
{
    struct js_call *call = (struct js_call *)api;
    struct api_round *round, *before;

    if (call->is_counted) {
        request_limit_end(&js_running, call->body_size);
    }
    js_files_free(&call->files);
    for (round = api->round; round != &api->first; round = before) {
        before = round->before;
        free(round);
    }
    json_write_forget(&call->tenant);
    free(call->modules);
    free(call->places);
    js_request_free(&call->request);
    free(call);
}

/* Writes the tenant's request: the source, and the web for files whose URLs
 * the source returns, and for those that are scraped.  All of this names the
 * tenant's store, so files fetched with other headers are in another one.
 * Returns 0, or -1 without memory. */
static int write_js_tenant(struct js_call *call, const char *scope)
{
    const struct js_request *request = &call->request;
    struct json_writer *w = &call->tenant;

    json_write_open(w, '{');
    json_put_text(w, "scope", scope);
    json_put_open(w, "sources", '[');
    json_write_open(w, '{');
    json_put_text(w, "name", "source");
    json_put_text(w, "type", "sentry");
    js_member_write(w, "url", request->source);
    if (request->token.data != NULL) {
        js_member_write(w, "token", request->token);
    } else {
        js_member_write(w, "cookies", request->cookies);
    }
    json_write_close(w, '}');
    json_write_open(w, '{');
    json_put_text(w, "name", "web");
    json_put_text(w, "type", "web");
    if (call->files.has_scraping) {
        js_headers_write(request, w);
    }
    json_write_close(w, '}');
    json_write_close(w, ']');
    json_write_close(w, '}');
    call->api.tenant = w->data;
    call->api.tenant_size = w->size;
    return w->has_failed ? -1 : 0;
}

/* An absent one has no data. */
static bool js_is_secret(struct symc_string text)
{
    return text.data == NULL || (text.size > 0 && js_header_is_value(text));
}

/* NULL, or what is wrong with the source that a client brings. */
static const char *js_source_error(const struct js_request *request)
{
    char url[SYMCACHE_URL_MAX + 1];

    if (symcache_url_normalise(url, request->source.data,
                               request->source.size) == 0) {
        return "source.url: is not a URL of http or https, has a user name, "
               "or is too long";
    }
    if (!js_is_secret(request->token)) {
        return "source.token: is not a token";
    }
    return js_is_secret(request->cookies)
               ? NULL
               : "source.cookies: are not cookies";
}

/* The rest of a request whose body has been read.  Returns 0, or the status of
 * the answer with a sentence in error. */
static int js_prepare(struct js_call *call, const char *scope,
                      const char **error)
{
    const struct symbolicator_config *config = &call->config->symbolicator;
    const struct js_request *request = &call->request;
    bool is_allowed = config->sources == SYMBOLICATOR_SOURCES_ALLOW;

    if (config->sources == SYMBOLICATOR_SOURCES_REFUSE) {
        *error = "source: sources are not allowed here";
        return 422;
    }
    *error = is_allowed ? js_source_error(request) : NULL;
    if (*error == NULL) {
        *error = js_headers_mistake(request);
    }
    call->files.has_scraping =
        request->has_scraping && call->config->javascript.scraping;
    if (*error == NULL && call->files.has_scraping) {
        *error = js_origins_mistake(request);
    }
    if (*error != NULL) {
        return 422;
    }
    call->modules = calloc(request->nscripts + 1, sizeof(*call->modules));
    call->places = calloc(request->nframes + 1, sizeof(*call->places));
    if (call->modules == NULL || call->places == NULL ||
        (is_allowed && write_js_tenant(call, scope) != 0)) {
        return 500;
    }
    call->files.request = request;
    call->files.has_source = is_allowed;
    call->files.tells_why = call->api.attempts != API_ATTEMPTS_OF_NONE;
    call->files.now = (uint64_t)time(NULL);
    call->files.most = call->config->limits.answer_size;
    call->api.nframes = request->nframes;
    return 0;
}

/* Reads the request and what it wants.  Returns false when it has answered. */
static bool read_js_request(struct js_call *call,
                            const struct api_request *request,
                            const char *scope, struct api_reply *reply)
{
    char text[256] = "out of memory";
    const char *error = text;
    int status =
        js_request_read(&call->request, request->body, request->size,
                        request->config->limits.frames,
                        request->config->limits.modules, text, sizeof(text));

    if (status == 0) {
        status = js_prepare(call, scope, &error);
    }
    if (status != 0) {
        answer_unreadable(reply, status, error);
    }
    return status == 0;
}

struct api_call *js_begin(const struct api_request *request, const char *scope,
                          struct api_reply *reply)
{
    struct js_call *call;

    call = calloc(1, sizeof(*call));
    if (call == NULL) {
        answer_text(reply, 503, "out of memory");
        return NULL;
    }
    call->config = request->config;
    call->body_size = request->size;
    call->api.wait = SYMBOLICATOR_LIMIT_MS;
    call->api.round = &call->api.first;
    call->api.step = js_step;
    call->api.is_large = js_call_is_large;
    call->api.free = js_release;
    if (api_query_has(request, "why", "1")) {
        call->api.attempts = API_ATTEMPTS_OF_ALL;
    }
    if (!request_limit_begin(
            &js_running, request->config->symbolicator.js.requests,
            request->size, request->config->limits.running_size)) {
        js_release(&call->api);
        answer_busy(reply);
        return NULL;
    }
    call->is_counted = true;
    if (!read_js_request(call, request, scope, reply)) {
        js_release(&call->api);
        return NULL;
    }
    return &call->api;
}
