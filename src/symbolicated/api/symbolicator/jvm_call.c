/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /symbolicate-jvm: events of programs for the JVM that ProGuard or R8
 * has shrunk.
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolicated/api/request_limit.h"
#include "native_call.h"
#include "jvm_answer.h"
#include "short_answer.h"
#include "request_sources.h"

/* All mappings have this name; their ids tell them apart. */
#define MAPPING_NAME "mapping.txt"

struct jvm_call {
    struct api_call api; /* first */
    const struct symbolication_config *config;
    struct jvm_request request;
    size_t body_size;
    bool is_counted;
    struct symbolicator_request
        sources;                        /* those of the client; borrows JSON */
    struct json_writer tenant;          /* api.tenant */
    struct client_list *client_sources; /* or NULL */
    size_t *wanted; /* which module of the request each of api.first is */
};

static request_count jvm_running; /* requests that are posted */

static const struct jvm_request_module *
jvm_module_of(const struct jvm_call *call, size_t i)
{
    return &call->request.modules[call->wanted[i]];
}

/* Sorts the files by what they are for, in the order of the request. */
static void jvm_take_files(const struct jvm_call *call,
                           struct jvm_mapping *mappings, size_t *nmappings,
                           struct jvm_sources *sources, enum jvm_error *errors)
{
    const struct api_round *first = &call->api.first;
    const struct api_module *file;
    size_t i;

    for (i = 0; i < call->request.nmodules; i++) {
        errors[i] = JVM_ERROR_MISSING;
    }
    for (i = 0; i < first->nmodules; i++) {
        file = &first->modules[i];
        if (file->state == API_MODULE_MALFORMED) {
            errors[call->wanted[i]] = JVM_ERROR_INVALID;
        } else if (file->state == API_MODULE_FAILED &&
                   (call->api.tenant == NULL || call->api.lacks_tenant ||
                    file->is_unseen)) {
            errors[call->wanted[i]] = JVM_ERROR_FAILED;
        } else if (file->state != API_MODULE_FOUND) {
            continue;
        } else if (jvm_module_of(call, i)->is_source) {
            sources->list[sources->count++] = &file->reader->sourcecache;
        } else {
            errors[call->wanted[i]] = JVM_NO_ERROR;
            mappings[(*nmappings)++].reader = &file->reader->proguardcache;
        }
    }
}

/* Returns 0, or -1 without memory. */
static int write_jvm_answer(struct jvm_call *call, struct json_writer *w)
{
    const size_t n = call->request.nmodules + 1;
    struct jvm_mapping *mappings = calloc(n, sizeof(*mappings));
    enum jvm_error *errors = calloc(n, sizeof(*errors));
    struct jvm_sources sources = {calloc(n, sizeof(*sources.list)), 0};
    struct jvm_traces traces = {.mappings = mappings};
    int rc = -1;

    if (mappings != NULL && errors != NULL && sources.list != NULL) {
        jvm_take_files(call, mappings, &traces.num_mappings, &sources, errors);
        rc = jvm_answer_write(&call->request, &traces, &sources, errors,
                              call->api.attempts != API_ATTEMPTS_OF_NONE
                                  ? &call->api.first
                                  : NULL,
                              call->config->limits.answer_size, w);
        call->api.left_out = traces.left_out > 0 ? "frames" : NULL;
    }
    jvm_traces_free(&traces);
    free(mappings);
    free(errors);
    free(sources.list);
    return rc;
}

static enum api_next jvm_step(struct api_call *api, struct api_reply *reply)
{
    struct jvm_call *call = (struct jvm_call *)api;

    api_reply_header(reply, "Cache-Control", "no-store");
    if (symbolicator_round_is_late(&api->first)) {
        answer_late(api, reply);
        return API_FINISHED;
    }
    reply->status = 200;
    reply->type = ANSWER_JSON_TYPE;
    if (write_jvm_answer(call, reply->body) != 0) {
        answer_text(reply, 503, "out of memory");
    } else if (reply->body->size > call->config->limits.answer_size) {
        answer_text(reply, 422, "the answer is too large: ask for less");
    }
    return API_FINISHED;
}

static void jvm_release(struct api_call *api)
{
    struct jvm_call *call = (struct jvm_call *)api;
    size_t i;

    if (call->is_counted) {
        request_limit_end(&jvm_running, call->body_size);
    }
    for (i = 0; i < api->first.nmodules; i++) {
        free(api->first.modules[i].hints);
    }
    free(api->first.modules);
    free(call->wanted);
    json_write_forget(&call->tenant);
    free(call->client_sources);
    jvm_request_free(&call->request);
    free(call);
}

static void set_jvm_key(struct api_module *wanted,
                        const struct jvm_request_module *module)
{
    symcache_key_t *key = &wanted->key;

    wanted->name = module->is_source ? SYMCACHE_NAME_NONE : MAPPING_NAME;
    wanted->name_size = strlen(wanted->name);
    (void)symcache_name_parse(wanted->name, wanted->name_size, key);
    key->kind = module->is_source ? SYMCACHE_KIND_SOURCECACHE
                                  : SYMCACHE_KIND_PROGUARDCACHE;
    key->id_type = SYMCACHE_ID_DEBUG;
    memcpy(key->guid, module->guid, sizeof(key->guid));
    key->age = module->age;
}

/* Tells which files are needed.  Returns 0, or -1 without memory. */
static int want_jvm_mappings(struct jvm_call *call)
{
    struct jvm_request *request = &call->request;
    struct api_round *first = &call->api.first;
    bool has_no_sources;
    size_t i;

    first->modules = calloc(request->nmodules + 1, sizeof(*first->modules));
    call->wanted = calloc(request->nmodules + 1, sizeof(*call->wanted));
    if (first->modules == NULL || call->wanted == NULL ||
        symbolicator_request_sources_take(call->config, &call->sources,
                                          &call->api, &call->tenant,
                                          &call->client_sources) != 0) {
        return -1;
    }
    /* then the client wants nothing to be looked for */
    has_no_sources = call->client_sources != NULL && call->tenant.size == 0;
    for (i = 0; i < request->nmodules && !has_no_sources; i++) {
        if (!request->modules[i].is_source || request->wants_context) {
            set_jvm_key(&first->modules[first->nmodules],
                        &request->modules[i]);
            call->wanted[first->nmodules++] = i;
        }
    }
    call->api.nframes = request->nframes;
    return 0;
}

/* If clients are not permitted to name sources, an empty list means none; if
 * the stores' own sources answer, the list is ignored. */
static int check_jvm_sources(struct jvm_call *call, char *error, size_t size)
{
    const struct json *json = &call->request.json;
    struct symbolicator_request *sources = &call->sources;

    sources->json = *json;
    sources->sources = call->request.sources;
    switch (call->config->symbolicator.sources) {
    case SYMBOLICATOR_SOURCES_ALLOW:
        return symbolicator_request_sources_check(call->config, sources, error,
                                                  size);
    case SYMBOLICATOR_SOURCES_REFUSE:
        return json->values[sources->sources].size == 0
                   ? 0
                   : symbolicator_request_sources_check(call->config, sources,
                                                        error, size);
    default:
        return 0;
    }
}

static struct jvm_call *call_new(const struct api_request *request,
                                 const char *scope)
{
    struct jvm_call *call = calloc(1, sizeof(*call));

    if (call != NULL) {
        call->config = request->config;
        call->body_size = request->size;
        snprintf(call->sources.scope, sizeof(call->sources.scope), "%s",
                 scope);
        call->api.wait = SYMBOLICATOR_LIMIT_MS;
        call->api.round = &call->api.first;
        call->api.step = jvm_step;
        call->api.free = jvm_release;
    }
    return call;
}

/* Reads the request and what it wants.  Returns false when it has answered. */
static bool read_jvm_request(struct jvm_call *call,
                             const struct api_request *request,
                             struct api_reply *reply)
{
    const struct symbolication_limits_config *limits =
        &request->config->limits;
    char error[256] = "out of memory";
    int status = jvm_request_read(&call->request, request->body, request->size,
                                  limits->frames, limits->modules, error,
                                  sizeof(error));

    if (status == 0) {
        status = check_jvm_sources(call, error, sizeof(error));
    }
    if (status == 0) {
        status = want_jvm_mappings(call) == 0 ? 0 : 500;
    }
    if (status != 0) {
        answer_unreadable(reply, status, error);
    }
    return status == 0;
}

struct api_call *jvm_begin(const struct api_request *request,
                           const char *scope, struct api_reply *reply)
{
    struct jvm_call *call;

    call = call_new(request, scope);
    if (call == NULL) {
        answer_text(reply, 503, "out of memory");
        return NULL;
    }
    if (api_query_has(request, "why", "1")) {
        call->api.attempts = API_ATTEMPTS_OF_ALL;
    }
    if (!request_limit_begin(
            &jvm_running, request->config->symbolicator.jvm.requests,
            request->size, request->config->limits.running_size)) {
        jvm_release(&call->api);
        answer_busy(reply);
        return NULL;
    }
    call->is_counted = true;
    if (!read_jvm_request(call, request, reply)) {
        jvm_release(&call->api);
        return NULL;
    }
    return &call->api;
}
