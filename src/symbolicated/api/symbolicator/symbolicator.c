/*
 * Copyright (C) the ngx_symcache authors
 *
 * Symbolicator's protocol: POST /symbolicate, GET /requests/{id} and
 * GET /healthcheck.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "symbolicated/api/protocols.h"
#include "symbolicated/api/running.h"
#include "answer.h"
#include "candidates.h"
#include "kept.h"
#include "key.h"
#include "own_sources.h"
#include "sources.h"

#define TEXT_TYPE "text/plain; charset=utf-8"
#define JSON_TYPE "application/json"
#define REQUESTS "/requests/"

struct symbolicator_call {
    struct api_call api; /* first */
    const struct symbolication_config *config;
    struct symbolicator_request own;
    size_t body_size;
    struct kept *kept;                   /* or NULL: the request is its own */
    struct symbolicator_result *results; /* of all modules */
    struct json_writer tenant;           /* api.tenant */
    struct own_list *own_sources;        /* or NULL */
    size_t *wanted; /* which module of the request each of api.first is */
    struct api_round images; /* the second round, */
    size_t *imaged;          /* and which of the first each of it is */
    bool is_posted; /* counts as running */
};

static running_count running; /* requests that are posted */

static __attribute__((format(printf, 3, 4))) void
say(struct api_reply *reply, int status, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    reply->status = status;
    reply->type = TEXT_TYPE;
    json_write_reset(reply->body);
    json_write_raw(reply->body, text, strlen(text));
}

/* This process cannot answer now. */
static void say_later(struct api_reply *reply, const char *detail)
{
    reply->status = 503;
    reply->type = JSON_TYPE;
    api_reply_header(reply, "Retry-After", "1");
    json_write_reset(reply->body);
    json_write_open(reply->body, '{');
    json_write_key(reply->body, "detail");
    json_write_text(reply->body, detail);
    json_write_close(reply->body, '}');
}

static void say_busy(struct api_reply *reply)
{
    say_later(reply, "maximum number of concurrent requests reached");
}

/* Says so, unless the method is the one that a path has. */
static bool is_method(const struct api_request *request, const char *method,
                      struct api_reply *reply)
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

static const struct symbolicator_request *
request_of(const struct symbolicator_call *call)
{
    return call->kept != NULL ? &call->kept->request : &call->own;
}

/* The value of a parameter of the query that must be a number of seconds. */
static bool parse_timeout(const char *p, size_t size, uint64_t *seconds)
{
    size_t i;

    for (i = 0, *seconds = 0; i < size; i++) {
        if (p[i] < '0' || p[i] > '9' ||
            __builtin_mul_overflow(*seconds, (uint64_t)10, seconds) ||
            __builtin_add_overflow(*seconds, (uint64_t)(p[i] - '0'),
                                   seconds)) {
            return false;
        }
    }
    return size > 0;
}

/* How long this connection waits; without a word, as long as a request may
 * take.  Returns false when it has answered. */
static bool read_query(const struct api_request *request, uint64_t *wait,
                       struct api_reply *reply)
{
    size_t n;
    uint64_t seconds;
    const char *p;

    *wait = KEPT_LIMIT_MS;
    for (p = request->query != NULL ? request->query : ""; *p != '\0';
         p += n + (p[n] == '&')) {
        n = strcspn(p, "&");
        if (n < 7 || strncmp(p, "timeout", 7) != 0 || (n > 7 && p[7] != '=')) {
            continue;
        }
        if (!parse_timeout(p + 8, n > 8 ? n - 8 : 0, &seconds)) {
            say(reply, 400,
                "Failed to deserialize query string: timeout: "
                "expected a number of seconds");
            return false;
        }
        *wait =
            seconds < KEPT_LIMIT_MS / 1000 ? seconds * 1000 : KEPT_LIMIT_MS;
    }
    return true;
}

/* The parameter "scope" of the query, as it was sent.  Returns false when it is
 * too long, and has answered. */
static bool read_scope(const struct api_request *request,
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
            say(reply, 400, "scope: too long");
            return false;
        }
        snprintf(scope, SYMBOLICATOR_SCOPE_MAX + 1, "%.*s", (int)(n - 6),
                 p + 6);
    }
    return true;
}

/* application/json, or something that ends in +json; parameters may follow. */
static bool is_json_type(const char *type)
{
    size_t n;

    if (type == NULL) {
        return false;
    }
    n = strcspn(type, "; \t");
    return (n == 16 && strncasecmp(type, JSON_TYPE, 16) == 0) ||
           (n > 17 && strncasecmp(type, "application/", 12) == 0 &&
            strncasecmp(type + n - 5, "+json", 5) == 0);
}

/* answers ------------------------------------------------------------------
 */

static void answer_status(struct api_reply *reply, const char *status,
                          const char *id)
{
    reply->status = 200;
    reply->type = JSON_TYPE;
    json_write_open(reply->body, '{');
    json_write_key(reply->body, "status");
    json_write_text(reply->body, status);
    if (id != NULL) {
        json_write_key(reply->body, "request_id");
        json_write_text(reply->body, id);
        json_write_key(reply->body, "retry_after");
        json_write_number(reply->body, 30);
    }
    json_write_close(reply->body, '}');
}

/* Some module did not come within the time of the connection. */
static void answer_late(struct symbolicator_call *call,
                        struct api_reply *reply)
{
    if (call->api.is_stopped) { /* and with it goes what is kept */
        say_later(reply, "the server is stopping");
        return;
    }
    if (call->kept == NULL) {
        if (call->api.wait == KEPT_LIMIT_MS) {
            answer_status(reply, "timeout", NULL);
            return;
        }
        call->kept = kept_add(&call->own, call->body_size,
                              call->config->symbolicator.node,
                              call->config->symbolicator.kept_size);
    }
    if (call->kept == NULL) {
        say_busy(reply);
    } else if (kept_is_late(call->kept)) {
        kept_answered(call->kept);
        answer_status(reply, "timeout", NULL);
    } else {
        answer_status(reply, "pending", call->kept->id);
    }
}

static enum symbolicator_status status_of(const struct api_module *module)
{
    switch (module->state) {
    case API_MODULE_FOUND:
        return SYMBOLICATOR_FOUND;
    case API_MODULE_MISSING:
        return SYMBOLICATOR_MISSING;
    case API_MODULE_UNSUPPORTED: /* a word that is for .NET alone */
        return module->key.kind == SYMCACHE_KIND_PPDBCACHE
                   ? SYMBOLICATOR_UNSUPPORTED
                   : SYMBOLICATOR_MISSING;
    case API_MODULE_MALFORMED:
        return SYMBOLICATOR_MALFORMED;
    case API_MODULE_FAILED:
        return SYMBOLICATOR_FETCHING_FAILED;
    default:
        return SYMBOLICATOR_OTHER;
    }
}

static void set_reader(struct symbolicator_result *result,
                       const struct api_module *module)
{
    bool is_dotnet = module->key.kind == SYMCACHE_KIND_PPDBCACHE;
    const union derived_reader *reader = module->reader;

    result->features = module->features;
    result->reader =
        reader == NULL || is_dotnet ? NULL : &reader->symcache;
    result->ppdb = reader == NULL || !is_dotnet ? NULL : &reader->ppdbcache;
}

static bool counts(const struct api_call *api, const char *source)
{
    const struct symbolicator_call *call;

    call = (const struct symbolicator_call *)api;
    return symbolicator_source_counts(call->config, request_of(call), source);
}

/* Makes a module wanted under a key.  Returns false if none of the client's
 * own sources is asked for it. */
static bool want(const struct symbolicator_call *call,
                 struct api_module *wanted, size_t module,
                 const symcache_key_t *key, const struct symfile_string *name)
{
    const struct symbolicator_request *request = request_of(call);
    char names[OWN_NAMES_SIZE] = "";
    uint32_t asked;

    if (call->own_sources != NULL) {
        asked = own_list_asks(call->own_sources, request,
                              &request->modules[module], key, names);
        if (asked == 0) {
            return false;
        }
        call->results[module].own_asked |= asked;
    }
    wanted->key = *key;
    wanted->name = name->data;
    wanted->name_size = name->size;
    free(wanted->hints);
    wanted->hints = symbolicator_hints(request, &request->modules[module],
                                       key, names);
    return true;
}

/*
 * Wants the images of modules whose PDBs nobody has: they have names of
 * functions that they export.  Returns 1 if there are some, 0 if not, or -1
 * without memory.
 */
static int want_images(struct symbolicator_call *call)
{
    const struct symbolicator_request *request = request_of(call);
    const struct api_round *first = &call->api.first;
    struct symfile_string name;
    symcache_key_t key;
    size_t i, module;

    for (i = 0; i < first->nmodules; i++) {
        module = call->wanted[i];
        if (first->modules[i].state == API_MODULE_FOUND ||
            first->modules[i].key.id_type == SYMCACHE_ID_PE ||
            !symbolicator_image_key(request, &request->modules[module], &key,
                                    &name)) {
            continue;
        }
        if (call->images.modules == NULL) {
            call->images.modules =
                calloc(first->nmodules - i, sizeof(first->modules[0]));
            call->imaged = calloc(first->nmodules - i, sizeof(size_t));
            if (call->images.modules == NULL || call->imaged == NULL) {
                return -1;
            }
        }
        if (want(call, &call->images.modules[call->images.nmodules], module,
                 &key, &name)) {
            call->imaged[call->images.nmodules++] = i;
        }
    }
    call->images.before = &call->api.first;
    call->api.round = &call->images;
    return call->images.nmodules > 0;
}

static bool is_late(const struct api_round *round)
{
    size_t i;

    for (i = 0; i < round->nmodules; i++) {
        if (round->modules[i].state == API_MODULE_LATE) {
            return true;
        }
    }
    return false;
}

/* What became of a module by a key. */
static void take_result(struct symbolicator_result *result,
                        const struct api_module *module)
{
    result->status = status_of(module);
    set_reader(result, module);
    result->is_image = module->key.id_type == SYMCACHE_ID_PE;
}

/*
 * Fills the results.  If the image of a module was not found either, that its
 * PDB failed counts, too.
 */
static void take_results(struct symbolicator_call *call)
{
    struct api_module *modules = call->api.first.modules;
    struct symbolicator_result *result;
    enum symbolicator_status before;
    size_t i;

    for (i = 0; i < call->api.first.nmodules; i++) {
        result = &call->results[call->wanted[i]];
        take_result(result, &modules[i]);
        result->attempts[0] = modules[i].attempts;
    }
    for (i = 0; i < call->images.nmodules; i++) {
        result = &call->results[call->wanted[call->imaged[i]]];
        before = result->status;
        take_result(result, &call->images.modules[i]);
        result->attempts[1] = call->images.modules[i].attempts;
        if (result->status != SYMBOLICATOR_FOUND && before > result->status) {
            result->status = before;
        }
    }
    for (i = 0; i < call->api.first.nmodules; i++) {
        result = &call->results[call->wanted[i]];
        if (result->status == SYMBOLICATOR_FETCHING_FAILED) {
            result->status = symbolicator_failure(result);
        }
    }
}

static void answer(struct symbolicator_call *call, struct api_reply *reply)
{
    take_results(call);
    reply->status = 200;
    reply->type = JSON_TYPE;
    if (!symbolicator_answer(call->config, request_of(call), call->results,
                             reply->body)) {
        say(reply, 422, "the answer is too large: ask for less");
    } else if (call->kept != NULL) {
        kept_answered(call->kept);
    }
}

static enum api_next step(struct api_call *api, struct api_reply *reply)
{
    struct symbolicator_call *call = (struct symbolicator_call *)api;
    int rc;

    if (is_late(&api->first) || is_late(&call->images)) {
        api_reply_header(reply, "Cache-Control", "no-store");
        answer_late(call, reply);
        return API_FINISHED;
    }
    if (api->round == &api->first) {
        rc = want_images(call);
        if (rc > 0) {
            return API_WANTS;
        }
        if (rc < 0) {
            say(reply, 503, "out of memory");
            return API_FINISHED;
        }
    }
    api_reply_header(reply, "Cache-Control", "no-store");
    answer(call, reply);
    return API_FINISHED;
}

static void free_modules(struct api_round *round)
{
    size_t i;

    for (i = 0; i < round->nmodules; i++) {
        free(round->modules[i].hints);
    }
    free(round->modules);
}

static void release(struct api_call *api)
{
    struct symbolicator_call *call;

    call = (struct symbolicator_call *)api;
    if (call->is_posted) {
        running_end(&running, call->body_size);
    }
    symbolicator_free(&call->own);
    kept_unref(call->kept);
    free(call->results);
    if (call->tenant.data != NULL) {
        explicit_bzero(call->tenant.data, call->tenant.size);
    }
    free(call->tenant.data);
    free(call->own_sources);
    free(call->wanted);
    free(call->imaged);
    free_modules(&api->first);
    free_modules(&call->images);
    free(call);
}

/* calls --------------------------------------------------------------------
 */

/* Whether the answer tells where modules were looked for. */
static bool does_tell(const struct symbolicator_call *call)
{
    return call->config->symbolicator.candidates &&
           request_of(call)->has_candidates;
}

/* Reads the client's own sources.  Returns 0, or -1 without memory. */
static int read_own_sources(struct symbolicator_call *call)
{
    const struct symbolicator_request *request = request_of(call);

    if (!symbolicator_has_own(call->config, request)) {
        return 0;
    }
    call->own_sources = own_list_read(request);
    if (call->own_sources == NULL) {
        return -1;
    }
    own_list_write(&call->tenant, call->own_sources, request);
    if (call->tenant.has_failed) {
        return -1;
    }
    if (call->tenant.size > 0) {
        call->api.tenant = call->tenant.data;
        call->api.tenant_size = call->tenant.size;
    }
    return 0;
}

/* Makes a module wanted, if it can be asked for. */
static void want_module(struct symbolicator_call *call, size_t module)
{
    const struct symbolicator_request *request = request_of(call);
    struct api_round *first = &call->api.first;
    struct api_module *wanted = &first->modules[first->nmodules];
    struct symfile_string name;
    symcache_key_t key;

    if ((symbolicator_key(request, &request->modules[module], &key, &name) &&
         want(call, wanted, module, &key, &name)) ||
        (symbolicator_image_key(request, &request->modules[module], &key,
                                &name) &&
         want(call, wanted, module, &key, &name))) {
        call->wanted[first->nmodules++] = module;
    }
}

/* Tells which modules are needed.  Returns 0, or -1 without memory. */
static int want_modules(struct symbolicator_call *call)
{
    size_t i;
    bool has_none;
    uint32_t sources;
    const struct symbolicator_request *request;

    request = request_of(call);
    call->results = calloc(request->nmodules + 1, sizeof(call->results[0]));
    call->wanted = calloc(request->nused + 1, sizeof(call->wanted[0]));
    call->api.first.modules =
        calloc(request->nused + 1, sizeof(call->api.first.modules[0]));
    if (call->results == NULL || call->wanted == NULL ||
        call->api.first.modules == NULL || read_own_sources(call) != 0) {
        return -1;
    }
    sources = symbolicator_source_list(call->config, request);
    /* then the client wants nothing to be looked for */
    has_none = sources != 0 && (request->json.values[sources].size == 0 ||
                                (call->own_sources != NULL &&
                                 call->tenant.size == 0));
    call->api.attempts = does_tell(call) ? API_ATTEMPTS_OF_ALL
                                         : API_ATTEMPTS_OF_FAILED;
    for (i = 0; i < request->nmodules; i++) {
        if (!request->modules[i].is_used) {
            continue;
        }
        call->results[i].status = SYMBOLICATOR_MISSING;
        if (!has_none) {
            want_module(call, i);
        }
    }
    call->api.nframes = request->nframes;
    return 0;
}

static struct symbolicator_call *new_call(const struct api_request *request,
                                          uint64_t wait)
{
    struct symbolicator_call *call;

    call = calloc(1, sizeof(*call));
    if (call != NULL) {
        call->config = request->config;
        call->api.wait = wait;
        call->api.round = &call->api.first;
        call->api.step = step;
        call->api.counts = counts;
        call->api.free = release;
    }
    return call;
}

/* The end of a begin: the call, or what became of it. */
static struct api_call *begun(struct symbolicator_call *call, int status,
                              const char *error, struct api_reply *reply)
{
    if (status == 0 && want_modules(call) == 0) {
        return &call->api;
    }
    if (status == 400) {
        say(reply, 400, "Failed to parse the request body as JSON: %s", error);
    } else if (status == 422) {
        say(reply, 422,
            "Failed to deserialize the JSON body into the target type: %s",
            error);
    } else {
        say(reply, 503, "out of memory");
    }
    release(&call->api);
    return NULL;
}

static struct api_call *post(const struct api_request *request, uint64_t wait,
                             struct api_reply *reply)
{
    int status;
    char error[256];
    struct symbolicator_call *call;
    struct symbolicator_limits limits;

    if (!is_json_type(request->header(request, "Content-Type"))) {
        say(reply, 415,
            "Expected request with `Content-Type: application/json`");
        return NULL;
    }
    if (api_is_encoded(request)) {
        say(reply, 415, "Content-Encoding is not supported");
        return NULL;
    }
    if (request->size > request->config->limits.body_size) {
        say(reply, 413,
            "Failed to buffer the request body: length limit exceeded");
        return NULL;
    }
    call = new_call(request, wait);
    if (call == NULL) {
        say(reply, 503, "out of memory");
        return NULL;
    }
    call->body_size = request->size;
    call->is_posted =
        running_begin(&running, request->config->symbolicator.requests,
                      request->size, request->config->limits.running_size);
    if (!call->is_posted) {
        release(&call->api);
        say_busy(reply);
        return NULL;
    }
    limits.frames = request->config->limits.frames;
    limits.modules = request->config->limits.modules;
    status = symbolicator_parse(&call->own, request->body, request->size,
                                &limits, error, sizeof(error));
    if (status == 0 && !read_scope(request, call->own.scope, reply)) {
        release(&call->api);
        return NULL;
    }
    if (status == 0) {
        status = symbolicator_sources_check(call->config, &call->own, error,
                                            sizeof(error));
    }
    return begun(call, status, error, reply);
}

static struct api_call *resume(const struct api_request *request,
                               uint64_t wait, struct api_reply *reply)
{
    struct symbolicator_call *call;

    call = new_call(request, wait);
    if (call == NULL) {
        say(reply, 503, "out of memory");
        return NULL;
    }
    call->kept = kept_find(request->path + strlen(REQUESTS));
    if (call->kept == NULL) {
        reply->status = 404;
        release(&call->api);
        return NULL;
    }
    return begun(call, 0, "", reply);
}

bool symbolicator_owns(const char *path)
{
    return strcmp(path, "/symbolicate") == 0 ||
           strcmp(path, "/healthcheck") == 0 ||
           strncmp(path, REQUESTS, strlen(REQUESTS)) == 0;
}

struct api_call *symbolicator_begin(const struct api_request *request,
                                    struct api_reply *reply)
{
    bool is_post;
    uint64_t wait;

    if (strcmp(request->path, "/healthcheck") == 0) {
        if (is_method(request, "GET,HEAD", reply)) {
            say(reply, 200, "ok");
        }
        return NULL;
    }
    api_reply_header(reply, "Cache-Control", "no-store");
    is_post = strcmp(request->path, "/symbolicate") == 0;
    if (!is_method(request, is_post ? "POST" : "GET,HEAD", reply) ||
        !read_query(request, &wait, reply)) {
        return NULL;
    }
    return (is_post ? post : resume)(request, wait, reply);
}
