/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /source/v1: the text of a source file, for the Firefox Profiler and
 * those who speak its protocol, as samply's API.md describes it:
 *
 *   {"debugName": NAME, "debugId": ID, "moduleOffset": "0x...", "file": PATH}
 *
 * The path must be one that /symbolicate/v5 tells for this address, so that
 * nobody gets files of a bundle that he could not name.  Refusals are
 * {"error": "..."}, with status 200 where the request is right and there is no
 * such file.
 */
#include <stdlib.h>
#include <string.h>
#include "source_and_asm.h"
#include "symbolicated/api/protocols.h"
#include "symbolicated/api/request_limit.h"
#include "symbolication/symbolication.h"

#define SOURCE_BODY_MAX 65536
#define SOURCE_VALUES_MAX 256

enum { NAMES, TEXTS, MODULES }; /* a SymCache, a SourceCache */

struct source_call {
    struct api_call base;
    const struct api_request *request;
    struct api_module modules[MODULES];
    struct symc_string file; /* in the body */
    uint64_t offset;
    struct source_path path;
    bool is_running;
};

static request_count source_running;

static void source_free_call(struct api_call *base)
{
    struct source_call *call = (struct source_call *)base;

    if (call->is_running) {
        request_limit_end(&source_running, 0);
    }
    source_path_free(&call->path);
    free(call);
}

/* the answer --------------------------------------------------------------- */

/* Is the file one of those at the address?  -1: there is no memory. */
static int source_names_file(struct source_call *call)
{
    const struct symc_reader *reader = &call->modules[NAMES].reader->symcache;
    const struct symc_string *path;
    struct symc_frames frames;
    struct symc_frame frame;

    symc_reader_lookup(reader, call->offset, &frames);
    while (symc_reader_next(&frames, &frame)) {
        path = source_path(&call->path, reader, frame.location.file);
        if (path == NULL) {
            return -1;
        }
        if (path->size > 0 && path->size == call->file.size &&
            memcmp(path->data, call->file.data, path->size) == 0) {
            return 1;
        }
    }
    return 0;
}

static enum api_next answer_source(const struct source_call *call,
                                   const struct sourcecache_entry *entry,
                                   struct api_reply *reply)
{
    struct json_writer *w = reply->body;

    reply->status = 200;
    reply->type = "application/json";
    json_write_open(w, '{');
    json_put_raw(w, "symbolsLastModified", "null", 4);
    json_put_raw(w, "sourceLastModified", "null", 4);
    json_put_string(w, "file", call->file.data, call->file.size);
    json_put_string(w, "source", entry->text.data, entry->text.size);
    json_write_close(w, '}');
    return API_FINISHED;
}

static enum api_next source_step(struct api_call *base,
                                 struct api_reply *reply)
{
    struct source_call *call = (struct source_call *)base;
    struct sourcecache_entry entry;
    size_t i;
    int is_named;

    mozilla_service(call->request, "POST", reply); /* it is one: for CORS */
    call->path.reader = NULL; /* a step may be taken again, of other files */
    for (i = 0; i < MODULES; i++) {
        switch (call->modules[i].state) {
        case API_MODULE_FOUND:
            break;
        case API_MODULE_FAILED:
        case API_MODULE_LATE:
            return mozilla_refuse(reply, 503,
                                  "the files of the module could not be "
                                  "had, please try again");
        default:
            return mozilla_refuse(reply, 200,
                                  i == NAMES
                                      ? "the module has no debug information "
                                        "here"
                                      : "the module has no source files here");
        }
    }
    is_named = source_names_file(call);
    if (is_named < 0) {
        reply->body->has_failed = true;
        return API_FINISHED;
    }
    if (is_named == 0) {
        return mozilla_refuse(reply, 200,
                              "the file is none of those at the address");
    }
    if (!sourcecache_find_path(&call->modules[TEXTS].reader->sourcecache,
                               call->file.data, call->file.size, &entry) ||
        entry.status != SOURCECACHE_TEXT) {
        return mozilla_refuse(reply, 200,
                              "the sources of the module have no text of "
                              "the file");
    }
    return answer_source(call, &entry, reply);
}

/* the request -------------------------------------------------------------- */

/* Returns NULL, or what is wrong. */
static const char *source_read_request(struct source_call *call,
                                       const struct api_request *request)
{
    struct symc_string name, id, offset;
    struct json_error error = {0};

    if (request->size == 0 || request->size > SOURCE_BODY_MAX ||
        json_read(request->json, request->body, request->size,
                  SOURCE_VALUES_MAX, &error) != request->size) {
        return error.out_of_memory ? mozilla_no_memory
                                   : "the body is not JSON, or too large";
    }
    if (!mozilla_member_text(request->json, "debugName", &name) ||
        !mozilla_member_text(request->json, "debugId", &id) ||
        !mozilla_member_text(request->json, "moduleOffset", &offset) ||
        !mozilla_member_text(request->json, "file", &call->file)) {
        return "please send debugName, debugId, moduleOffset and file, which "
               "are texts";
    }
    if (!mozilla_read_hex(&offset, &call->offset)) {
        return "moduleOffset is not a hexadecimal number with 0x";
    }
    return mozilla_set_module(&call->modules[NAMES], SYMCACHE_KIND_SYMCACHE,
                              &name, &id) &&
                   mozilla_set_module(&call->modules[TEXTS],
                                      SYMCACHE_KIND_SOURCECACHE, &name, &id)
               ? NULL
               : "debugName or debugId is none";
}

struct api_call *mozilla_source_begin(const struct api_request *request,
                                      struct api_reply *reply)
{
    const struct mozilla_config *config = &request->config->mozilla;
    struct source_call *call;
    const char *wrong;

    if (mozilla_service(request, "POST", reply)) {
        return NULL;
    }
    call = calloc(1, sizeof(*call));
    if (call == NULL) {
        reply->body->has_failed = true;
        return NULL;
    }
    call->request = request;
    call->base.round = &call->base.first;
    call->base.first.modules = call->modules;
    call->base.first.nmodules = MODULES;
    call->base.step = source_step;
    call->base.free = source_free_call;
    call->base.wait = (uint64_t)config->wait * 1000;
    call->is_running =
        request_limit_begin(&source_running, config->requests, 0, SIZE_MAX);
    wrong = call->is_running ? source_read_request(call, request)
                             : "too many requests are running, please try "
                               "again";
    if (wrong == NULL) {
        return &call->base;
    }
    mozilla_refuse(
        reply, call->is_running && wrong != mozilla_no_memory ? 400 : 503,
        wrong);
    source_free_call(&call->base);
    return NULL;
}
