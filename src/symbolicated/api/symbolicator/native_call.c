/*
 * Copyright (C) the ngx_symcache authors
 */
#include "native_call.h"

#include <stdlib.h>

#include "base/zeroed.h"
#include "candidates.h"
#include "module_key.h"
#include "short_answer.h"
#include "request_sources.h"

static enum symbolicator_status
native_status_of(const struct api_module *module)
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

static void native_set_reader(struct symbolicator_result *result,
                              const struct api_module *module)
{
    bool is_dotnet = module->key.kind == SYMCACHE_KIND_PPDBCACHE;
    const union derived_reader *reader = module->reader;

    result->features = module->features;
    result->reader = reader == NULL || is_dotnet ? NULL : &reader->symcache;
    result->ppdb = reader == NULL || !is_dotnet ? NULL : &reader->ppdbcache;
}

static bool call_counts(const struct api_call *api, const char *source)
{
    const struct native_call *call;

    call = (const struct native_call *)api;
    return symbolicator_request_sources_has(call->config, &call->request,
                                            source);
}

/* Makes a module wanted under a key.  Returns false if none of the client's
 * own sources is asked for it. */
static bool native_want(const struct native_call *call,
                        struct api_module *wanted, size_t module,
                        const symcache_key_t *key,
                        const struct symc_string *name)
{
    const struct symbolicator_request *request = &call->request;
    char names[CLIENT_NAMES_SIZE] = "";
    uint32_t asked;

    if (call->client_sources != NULL) {
        asked = client_list_asks(call->client_sources, request,
                                 &request->modules[module], key, names);
        if (asked == 0) {
            return false;
        }
        call->results[module].client_asked |= asked;
    }
    wanted->key = *key;
    wanted->name = name->data;
    wanted->name_size = name->size;
    free(wanted->hints);
    wanted->hints =
        symbolicator_hints(request, &request->modules[module], key, names);
    return true;
}

/* Requests the images of modules whose PDBs were not found: the names of their
 * exported functions still help.  Returns 1 if there are such modules, 0 if
 * not, or -1 without memory. */
static int native_want_images(struct native_call *call)
{
    const struct symbolicator_request *request = &call->request;
    const struct api_round *first = &call->api.first;
    struct symc_string name;
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
                zeroed_alloc(first->nmodules - i, sizeof(first->modules[0]));
            call->imaged = zeroed_alloc(first->nmodules - i, sizeof(size_t));
            if (call->images.modules == NULL || call->imaged == NULL) {
                return -1;
            }
        }
        if (native_want(call, &call->images.modules[call->images.nmodules],
                        module, &key, &name)) {
            call->imaged[call->images.nmodules++] = i;
        }
    }
    call->images.before = &call->api.first;
    call->api.round = &call->images;
    return call->images.nmodules > 0;
}

bool symbolicator_round_is_late(const struct api_round *round)
{
    size_t i;

    for (i = 0; i < round->nmodules; i++) {
        if (round->modules[i].state == API_MODULE_LATE) {
            return true;
        }
    }
    return false;
}

/* The result of looking for a module by a key. */
static void native_take_result(struct symbolicator_result *result,
                               const struct api_module *module)
{
    result->status = native_status_of(module);
    native_set_reader(result, module);
    result->is_image = module->key.id_type == SYMCACHE_ID_PE;
}

/* The source code of a module, or NULL.  Windows PDBs have links, which
 * Symbolicator does not look at. */
static const struct sourcecache_reader *
native_sources_of(const struct native_call *call,
                  const struct api_module *module)
{
    bool has_pdb_links = (call->config->symbolicator.corrections &
                          1u << CORRECTION_PDB_LINKS) != 0;
    const struct sourcecache_reader *reader;

    if (module->state != API_MODULE_FOUND) {
        return NULL;
    }
    reader = &module->reader->sourcecache;
    return (reader->flags & SOURCECACHE_FOLDS) != 0 && !has_pdb_links ? NULL
                                                                      : reader;
}

/*
 * Fills the results.  If the image of a module was not found either, that its
 * PDB failed counts, too.
 */
static void native_take_results(struct native_call *call)
{
    struct api_module *modules = call->api.first.modules;
    struct symbolicator_result *result;
    enum symbolicator_status before;
    size_t i;

    for (i = 0; i < call->api.first.nmodules; i++) {
        result = &call->results[call->wanted[i]];
        native_take_result(result, &modules[i]);
        result->attempts[0] = modules[i].attempts;
    }
    for (i = 0; i < call->images.nmodules; i++) {
        result = &call->results[call->wanted[call->imaged[i]]];
        before = result->status;
        native_take_result(result, &call->images.modules[i]);
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
    for (i = 0; i < call->sources.nmodules; i++) {
        result = &call->results[call->sourced[i]];
        result->sources = native_sources_of(call, &call->sources.modules[i]);
        result->source_attempts = call->sources.modules[i].attempts;
    }
}

/* May a frame of a module have a path?  Candidates tell of all modules. */
static bool native_has_paths(const struct native_call *call, size_t module)
{
    const struct symbolicator_result *result = &call->results[module];

    return call->api.attempts == API_ATTEMPTS_OF_ALL ||
           (result->reader != NULL && result->reader->num_files > 0) ||
           (result->ppdb != NULL && result->ppdb->num_files > 0) ||
           call->request.modules[module].has_more;
}

/* Wants the source code of modules.  Returns 1 if there are some, 0 if not, or
 * -1 without memory. */
static int native_want_sources(struct native_call *call)
{
    const struct symbolicator_request *request = &call->request;
    struct api_round *round = &call->sources;
    struct symc_string name;
    symcache_key_t key;
    size_t i;

    round->before = call->api.round;
    call->api.round = round;
    if (!request->wants_context || call->has_no_sources) {
        return 0;
    }
    round->modules =
        zeroed_alloc(request->nused + 1, sizeof(round->modules[0]));
    call->sourced = zeroed_alloc(request->nused + 1, sizeof(call->sourced[0]));
    if (round->modules == NULL || call->sourced == NULL) {
        return -1;
    }
    for (i = 0; i < request->nmodules; i++) {
        if (!request->modules[i].is_used || !native_has_paths(call, i) ||
            !symbolicator_key(request, &request->modules[i], &key, &name)) {
            continue;
        }
        key.kind = SYMCACHE_KIND_SOURCECACHE;
        if (native_want(call, &round->modules[round->nmodules], i, &key,
                        &name)) {
            call->sourced[round->nmodules++] = i;
        }
    }
    return round->nmodules > 0;
}

static void answer_call(struct native_call *call, struct api_reply *reply)
{
    native_take_results(call);
    reply->status = 200;
    reply->type = ANSWER_JSON_TYPE;
    if (!symbolicator_answer(call->config, &call->request, call->results,
                             &call->links, reply->body)) {
        answer_text(reply, 422, "the answer is too large: ask for less");
    }
}

static enum api_next call_step(struct api_call *api, struct api_reply *reply)
{
    struct native_call *call = (struct native_call *)api;
    int rc;

    if (symbolicator_round_is_late(&api->first) ||
        symbolicator_round_is_late(&call->images)) {
        api_reply_header(reply, "Cache-Control", "no-store");
        answer_late(&call->api, reply);
        return API_FINISHED;
    }
    if (api->round == &api->first) {
        rc = native_want_images(call);
        if (rc > 0) {
            return API_WANTS;
        }
        if (rc < 0) {
            answer_text(reply, 503, "out of memory");
            return API_FINISHED;
        }
    }
    if (api->round != &call->sources && api->round != &call->links.round) {
        native_take_results(call);
        rc = native_want_sources(call);
        if (rc > 0) {
            return API_WANTS;
        }
        if (rc < 0) {
            answer_text(reply, 503, "out of memory");
            return API_FINISHED;
        }
    }
    api_reply_header(reply, "Cache-Control", "no-store");
    call->links.config =
        api->tenant == NULL ? &call->config->symbolicator : NULL;
    answer_call(call, reply);
    rc =
        reply->status == 200 ? source_links_want(&call->links, api->round) : 0;
    if (rc < 0) {
        answer_text(reply, 503, "out of memory");
    }
    if (rc <= 0) {
        return API_FINISHED;
    }
    api->round = &call->links.round;
    json_write_reset(reply->body);
    reply->nheaders = 0;
    return API_WANTS;
}

static void native_free_modules(struct api_round *round)
{
    size_t i;

    for (i = 0; i < round->nmodules; i++) {
        free(round->modules[i].hints);
    }
    free(round->modules);
}

static void call_release(struct api_call *api)
{
    struct native_call *call;

    call = (struct native_call *)api;
    if (call->running != NULL) {
        request_limit_end(call->running, call->body_size);
    }
    symbolicator_free(&call->request);
    free(call->text);
    free(call->results);
    json_write_forget(&call->tenant);
    free(call->client_sources);
    free(call->wanted);
    free(call->imaged);
    free(call->sourced);
    native_free_modules(&api->first);
    native_free_modules(&call->images);
    native_free_modules(&call->sources);
    native_free_modules(&call->links.round);
    source_links_clear(&call->links);
    free(call);
}

/* Whether the answer tells where modules were looked for. */
static bool native_does_tell(const struct native_call *call)
{
    return call->config->symbolicator.candidates &&
           call->request.has_candidates;
}

/* Makes a module wanted, if it can be asked for. */
static void native_want_module(struct native_call *call, size_t module)
{
    const struct symbolicator_request *request = &call->request;
    struct api_round *first = &call->api.first;
    struct api_module *wanted = &first->modules[first->nmodules];
    struct symc_string name;
    symcache_key_t key;

    if ((symbolicator_key(request, &request->modules[module], &key, &name) &&
         native_want(call, wanted, module, &key, &name)) ||
        (symbolicator_image_key(request, &request->modules[module], &key,
                                &name) &&
         native_want(call, wanted, module, &key, &name))) {
        call->wanted[first->nmodules++] = module;
    }
}

/* The same of its CFI, which may be that of its image or of its debug file. */
static void native_want_cfi(struct native_call *call, size_t module)
{
    const struct symbolicator_request *request = &call->request;
    const struct symbolicator_module *m = &request->modules[module];
    struct api_round *first = &call->api.first;
    struct symc_string name;
    symcache_key_t key;

    if (symbolicator_image_key(request, m, &key, &name)) {
        key.kind = SYMCACHE_KIND_CFICACHE;
        if (native_want(call, &first->modules[first->nmodules], module, &key,
                        &name)) {
            call->wanted[first->nmodules++] = module;
        }
    }
    if (symbolicator_key(request, m, &key, &name)) {
        key.kind = SYMCACHE_KIND_CFICACHE;
        if (native_want(call, &first->modules[first->nmodules], module, &key,
                        &name)) {
            call->wanted[first->nmodules++] = module;
        }
    }
}

int native_call_want(struct native_call *call)
{
    size_t i, files;
    uint32_t sources;
    const struct symbolicator_request *request;

    request = &call->request;
    call->results =
        zeroed_alloc(request->nmodules + 1, sizeof(call->results[0]));
    files = request->nused * (call->wants_cfi ? 3 : 1);
    call->wanted = zeroed_alloc(files + 1, sizeof(call->wanted[0]));
    call->api.first.modules =
        zeroed_alloc(files + 1, sizeof(call->api.first.modules[0]));
    if (call->results == NULL || call->wanted == NULL ||
        call->api.first.modules == NULL ||
        symbolicator_request_sources_take(call->config, request, &call->api,
                                          &call->tenant,
                                          &call->client_sources) != 0) {
        return -1;
    }
    call->request.own = call->client_sources;
    sources = symbolicator_request_sources(call->config, request);
    /* then the client wants nothing to be looked for */
    call->has_no_sources =
        sources != 0 &&
        (request->json.values[sources].size == 0 ||
         (call->client_sources != NULL && call->tenant.size == 0));
    call->api.attempts =
        native_does_tell(call) ? API_ATTEMPTS_OF_ALL : API_ATTEMPTS_OF_FAILED;
    for (i = 0; i < request->nmodules; i++) {
        if (!request->modules[i].is_used) {
            continue;
        }
        call->results[i].status = SYMBOLICATOR_MISSING;
        if (!call->has_no_sources) {
            native_want_module(call, i);
        }
        if (!call->has_no_sources && call->wants_cfi) {
            native_want_cfi(call, i);
        }
    }
    call->api.nframes = request->nframes;
    return 0;
}

struct native_call *native_call_new(const struct symbolication_config *config)
{
    struct native_call *call;

    call = zeroed_alloc(1, sizeof(*call));
    if (call != NULL) {
        call->config = config;
        call->api.wait = SYMBOLICATOR_LIMIT_MS;
        call->api.round = &call->api.first;
        call->api.step = call_step;
        call->api.counts = call_counts;
        call->api.free = call_release;
    }
    return call;
}
