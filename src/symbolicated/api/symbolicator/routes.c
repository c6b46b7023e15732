/*
 * Copyright (C) the ngx_symcache authors
 *
 * Symbolicator's protocol: POST /symbolicate, GET /requests/{id} and
 * GET /healthcheck.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "symbolicated/api/protocols.h"
#include "symbolicated/api/request_limit.h"
#include "calls.h"
#include "native_call.h"
#include "crash_report_call.h"
#include "short_answer.h"
#include "request_sources.h"

#define ROUTE_REQUESTS "/requests/"
#define ROUTE_PLAIN "/symbolicate"
#define ROUTE_ANY "/symbolicate-any"
#define ROUTE_JVM "/symbolicate-jvm"
#define ROUTE_JS "/symbolicate-js"

static request_count route_running; /* requests that are posted */

/* Says so, unless the method is the one that a path has. */
static bool route_has_method(const struct api_request *request,
                             const char *method, struct api_reply *reply)
{
    bool is_get;

    is_get = strcmp(method, "POST") != 0;
    if (is_get ? request->method == API_GET || request->method == API_HEAD
               : request->method == API_POST) {
        return true;
    }
    reply->status = 405;
    api_reply_header(reply, "Allow", method);
    return false;
}

/* How long this connection waits; without the parameter, as long as a request
 * may take.  Returns false when it has answered. */
static bool route_read_query(const struct api_request *request, uint64_t *wait,
                             struct api_reply *reply)
{
    size_t n;
    uint64_t seconds;
    const char *p;

    *wait = SYMBOLICATOR_LIMIT_MS;
    for (p = request->query != NULL ? request->query : ""; *p != '\0';
         p += n + (p[n] == '&')) {
        n = strcspn(p, "&");
        if (n < 7 || strncmp(p, "timeout", 7) != 0 || (n > 7 && p[7] != '=')) {
            continue;
        }
        if (!decimal_number(p + 8, n > 8 ? n - 8 : 0, &seconds)) {
            answer_text(reply, 400,
                        "Failed to deserialize query string: timeout: "
                        "invalid digit found in string");
            return false;
        }
        *wait = seconds < SYMBOLICATOR_LIMIT_MS / 1000 ? seconds * 1000
                                                       : SYMBOLICATOR_LIMIT_MS;
    }
    return true;
}

/* The parameter "scope" of the query, as it was sent.  Returns false when it
 * is too long, and has answered. */
static bool route_read_scope(const struct api_request *request,
                             char scope[SYMBOLICATOR_SCOPE_MAX + 1],
                             struct api_reply *reply)
{
    size_t n;
    const char *p;

    for (p = request->query != NULL ? request->query : ""; *p != '\0';
         p += n + (p[n] == '&')) {
        n = strcspn(p, "&");
        if (n < 6 || strncmp(p, "scope=", 6) != 0) {
            continue;
        }
        if (n - 6 > SYMBOLICATOR_SCOPE_MAX) {
            answer_text(reply, 400, "scope: too long");
            return false;
        }
        snprintf(scope, SYMBOLICATOR_SCOPE_MAX + 1, "%.*s", (int)(n - 6),
                 p + 6);
    }
    return true;
}

/* application/json, or something that ends in +json; parameters may follow. */
static bool route_is_json_type(const char *type)
{
    size_t n;

    if (type == NULL) {
        return false;
    }
    n = strcspn(type, "; \t");
    return (n == 16 && strncasecmp(type, ANSWER_JSON_TYPE, 16) == 0) ||
           (n > 17 && strncasecmp(type, "application/", 12) == 0 &&
            strncasecmp(type + n - 5, "+json", 5) == 0);
}

/* Is the body JSON that is not packed, and not too large?  If not, says so. */
static bool route_takes_json(const struct api_request *request,
                             struct api_reply *reply)
{
    if (!route_is_json_type(request->header(request, "Content-Type"))) {
        answer_text(reply, 415,
                    "Expected request with `Content-Type: application/json`");
        return false;
    }
    if (api_is_encoded(request)) {
        answer_text(reply, 415, "Content-Encoding is not supported");
        return false;
    }
    if (request->size > request->config->limits.body_size) {
        answer_text(
            reply, 413,
            "Failed to buffer the request body: length limit exceeded");
        return false;
    }
    return true;
}

/* The end of a begin: the call, or what became of it. */
static struct api_call *route_call(struct native_call *call, int status,
                                   const char *error, struct api_reply *reply)
{
    if (status == 0 && native_call_want(call) == 0) {
        return &call->api;
    }
    answer_unreadable(reply, status, error);
    call->api.free(&call->api);
    return NULL;
}

static struct api_call *route_symbolicate(const struct api_request *request,
                                          struct api_reply *reply)
{
    int status;
    char error[256];
    struct native_call *call;
    const struct symbolicator_limits limits = {
        .frames = request->config->limits.frames,
        .modules = request->config->limits.modules,
    };

    if (!route_takes_json(request, reply)) {
        return NULL;
    }
    call = native_call_new(request->config);
    if (call == NULL) {
        answer_text(reply, 503, "out of memory");
        return NULL;
    }
    call->body_size = request->size;
    if (!request_limit_begin(
            &route_running, request->config->symbolicator.requests,
            request->size, request->config->limits.running_size)) {
        call->api.free(&call->api);
        answer_busy(reply);
        return NULL;
    }
    call->running = &route_running;
    status = symbolicator_parse(&call->request, request->body, request->size,
                                &limits, error, sizeof(error));
    if (status == 0 &&
        !route_read_scope(request, call->request.scope, reply)) {
        call->api.free(&call->api);
        return NULL;
    }
    if (status == 0) {
        status = symbolicator_request_sources_check(
            call->config, &call->request, error, sizeof(error));
    }
    return route_call(call, status, error, reply);
}

/* Paths of requests that are forms with a report. */
static const struct {
    const char *path;
    enum crash_kind kind;
    enum api_protocol protocol;
} form_routes[] = {{"/minidump", CRASH_MINIDUMP, API_MINIDUMP},
                   {"/applecrashreport", CRASH_APPLE, API_APPLE}};

#define FORM_ROUTES (sizeof(form_routes) / sizeof(form_routes[0]))

/* Which of them a path is, or FORMS. */
static size_t form_route_of(const struct symbolication_config *config,
                            const char *path)
{
    size_t i;

    for (i = 0; i < FORM_ROUTES; i++) {
        if (strcmp(path, form_routes[i].path) == 0 &&
            crash_config(config, form_routes[i].kind)->enabled) {
            break;
        }
    }
    return i;
}

/* A report, in a form. */
static struct api_call *route_form(const struct api_request *request,
                                   struct api_reply *reply)
{
    char scope[SYMBOLICATOR_SCOPE_MAX + 1] = "";
    size_t form = form_route_of(request->config, request->path);

    reply->protocol = form_routes[form].protocol;
    return route_read_scope(request, scope, reply)
               ? crash_begin(request, form_routes[form].kind, scope, reply)
               : NULL;
}

/* Paths of other requests in JSON. */
static const struct {
    const char *path;
    enum api_protocol protocol;
    struct api_call *(*begin)(const struct api_request *request,
                              const char *scope, struct api_reply *reply);
} event_routes[] = {{ROUTE_ANY, API_MINIDUMP, remote_report_begin},
                    {ROUTE_JVM, API_JVM, jvm_begin},
                    {ROUTE_JS, API_JS, js_begin}};

#define EVENT_ROUTES (sizeof(event_routes) / sizeof(event_routes[0]))

/* Which of them a path is, or EVENTS. */
static size_t event_route_of(const char *path)
{
    size_t i;

    for (i = 0; i < EVENT_ROUTES && strcmp(path, event_routes[i].path) != 0;
         i++) {
    }
    return i;
}

/* A report that is somewhere else, or an event of a program for the JVM or of
 * a script. */
static struct api_call *route_event(const struct api_request *request,
                                    struct api_reply *reply)
{
    char scope[SYMBOLICATOR_SCOPE_MAX + 1] = "";
    size_t event = event_route_of(request->path);

    reply->protocol = event_routes[event].protocol;
    return route_takes_json(request, reply) &&
                   route_read_scope(request, scope, reply)
               ? event_routes[event].begin(request, scope, reply)
               : NULL;
}

bool symbolicator_takes_form(const struct symbolication_config *config,
                             const char *path)
{
    return form_route_of(config, path) < FORM_ROUTES;
}

typedef struct api_call *route_fn(const struct api_request *request,
                                  struct api_reply *reply);

/* What begins the call of a path that is posted to; NULL: the path is another
 * one. */
static route_fn *route_of(const struct symbolication_config *config,
                          const char *path)
{
    return strcmp(path, ROUTE_PLAIN) == 0              ? route_symbolicate
           : form_route_of(config, path) < FORM_ROUTES ? route_form
           : event_route_of(path) < EVENT_ROUTES       ? route_event
                                                       : NULL;
}

bool symbolicator_owns(const struct symbolication_config *config,
                       const char *path)
{
    return strcmp(path, ROUTE_PLAIN) == 0 ||
           form_route_of(config, path) < FORM_ROUTES ||
           (strcmp(path, ROUTE_ANY) == 0 &&
            (config->symbolicator.minidump.enabled ||
             config->symbolicator.apple.enabled)) ||
           (strcmp(path, ROUTE_JVM) == 0 &&
            config->symbolicator.jvm.enabled) ||
           (strcmp(path, ROUTE_JS) == 0 && config->symbolicator.js.enabled) ||
           strcmp(path, "/healthcheck") == 0 ||
           strncmp(path, ROUTE_REQUESTS, strlen(ROUTE_REQUESTS)) == 0;
}

struct api_call *symbolicator_begin(const struct api_request *request,
                                    struct api_reply *reply)
{
    route_fn *route = route_of(request->config, request->path);
    struct api_call *call;
    uint64_t wait;

    if (route == NULL && strcmp(request->path, "/healthcheck") == 0) {
        if (route_has_method(request, "GET,HEAD", reply)) {
            answer_text(reply, 200, "ok");
        }
        return NULL;
    }
    api_reply_header(reply, "Cache-Control", "no-store");
    if (!route_has_method(request, route != NULL ? "POST" : "GET,HEAD",
                          reply) ||
        !route_read_query(request, &wait, reply)) {
        return NULL;
    }
    if (route == NULL) {
        return poll_begin(request->path + strlen(ROUTE_REQUESTS), wait, reply);
    }
    call = route(request, reply);
    if (call != NULL && wait < SYMBOLICATOR_LIMIT_MS) {
        call->patience = wait;
        call->answer_pending = answer_pending;
    }
    return call;
}
