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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbolicated/api/protocols.h"
#include "symbolicated/api/request_limit.h"
#include "symbolication/symbolication.h"

#define BODY_MAX 65536
#define VALUES_MAX 256

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

static request_count running;

static void free_call(struct api_call *base)
{
    struct source_call *call = (struct source_call *)base;

    if (call->is_running) {
        request_limit_end(&running, 0);
    }
    source_path_free(&call->path);
    free(call);
}

static enum api_next refuse(struct api_reply *reply, int status,
                            const char *error)
{
    if (status == 503) {
        api_reply_header(reply, "Retry-After", "1");
    }
    reply->status = status;
    reply->type = "application/json";
    json_write_reset(reply->body);
    json_write_open(reply->body, '{');
    json_write_key(reply->body, "error");
    json_write_text(reply->body, error);
    json_write_close(reply->body, '}');
    return API_FINISHED;
}

/* the answer --------------------------------------------------------------- */

/* Is the file one of those at the address?  -1: there is no memory. */
static int names_file(struct source_call *call)
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

static enum api_next answer(const struct source_call *call,
                            const struct sourcecache_entry *entry,
                            struct api_reply *reply)
{
    struct json_writer *w = reply->body;

    reply->status = 200;
    reply->type = "application/json";
    json_write_open(w, '{');
    json_write_key(w, "symbolsLastModified");
    json_write_raw(w, "null", 4);
    json_write_key(w, "sourceLastModified");
    json_write_raw(w, "null", 4);
    json_write_key(w, "file");
    json_write_string(w, call->file.data, call->file.size);
    json_write_key(w, "source");
    json_write_string(w, entry->text.data, entry->text.size);
    json_write_close(w, '}');
    return API_FINISHED;
}

static enum api_next step(struct api_call *base, struct api_reply *reply)
{
    struct source_call *call = (struct source_call *)base;
    struct sourcecache_entry entry;
    size_t i;
    int is_named;

    mozilla_service(call->request, "POST", reply); /* it is one: for CORS */
    for (i = 0; i < MODULES; i++) {
        switch (call->modules[i].state) {
        case API_MODULE_FOUND:
            break;
        case API_MODULE_FAILED:
        case API_MODULE_LATE:
            return refuse(reply, 503, "the files of the module could not be "
                                      "had, please try again");
        default:
            return refuse(reply, 200,
                          i == NAMES ? "the module has no debug information "
                                       "here"
                                     : "the module has no source files here");
        }
    }
    is_named = names_file(call);
    if (is_named < 0) {
        reply->body->has_failed = true;
        return API_FINISHED;
    }
    if (is_named == 0) {
        return refuse(reply, 200, "the file is none of those at the address");
    }
    if (!sourcecache_find_path(&call->modules[TEXTS].reader->sourcecache,
                               call->file.data, call->file.size, &entry) ||
        entry.status != SOURCECACHE_TEXT) {
        return refuse(reply, 200, "the sources of the module have no text of "
                                  "the file");
    }
    return answer(call, &entry, reply);
}

/* the request -------------------------------------------------------------- */

/* A member that is a text.  Returns false if there is none. */
static bool read_text(const struct json *json, const char *name,
                      struct symc_string *text)
{
    uint32_t value = json->values[0].type == JSON_OBJECT
                         ? json_member(json, 0, name)
                         : 0;

    if (value == 0 || json->values[value].type != JSON_STRING) {
        return false;
    }
    text->data = json_text(json, value);
    text->size = json->values[value].size;
    return true;
}

/* "0x" and up to 16 digits. */
static bool read_offset(const struct symc_string *text, uint64_t *offset)
{
    char digits[16 + 1];
    char *end;

    if (text->size < 3 || text->size > 2 + 16 ||
        memcmp(text->data, "0x", 2) != 0) {
        return false;
    }
    memcpy(digits, text->data + 2, text->size - 2);
    digits[text->size - 2] = '\0';
    *offset = strtoull(digits, &end, 16);
    return *end == '\0' && strspn(digits, "0123456789abcdefABCDEF") > 0;
}

static bool set_module(struct api_module *module, symcache_kind_e kind,
                       const struct symc_string *name,
                       const struct symc_string *id)
{
    module->name = name->data;
    module->name_size = name->size;
    if (symcache_name_parse(name->data, name->size, &module->key) !=
            SYMCACHE_OK ||
        symcache_debug_id_parse(id->data, id->size, &module->key) !=
            SYMCACHE_OK) {
        return false;
    }
    module->key.kind = (uint8_t)kind;
    return true;
}

/* Returns NULL, or what is wrong. */
static const char *read_request(struct source_call *call,
                                const struct api_request *request)
{
    struct symc_string name, id, offset;
    struct json_error error;

    if (request->size == 0 || request->size > BODY_MAX ||
        json_read(request->json, request->body, request->size, VALUES_MAX,
                  &error) != request->size) {
        return "the body is not JSON, or too large";
    }
    if (!read_text(request->json, "debugName", &name) ||
        !read_text(request->json, "debugId", &id) ||
        !read_text(request->json, "moduleOffset", &offset) ||
        !read_text(request->json, "file", &call->file)) {
        return "please send debugName, debugId, moduleOffset and file, which "
               "are texts";
    }
    if (!read_offset(&offset, &call->offset)) {
        return "moduleOffset is not a hexadecimal number with 0x";
    }
    return set_module(&call->modules[NAMES], SYMCACHE_KIND_SYMCACHE, &name,
                      &id) &&
                   set_module(&call->modules[TEXTS],
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
    call->base.step = step;
    call->base.free = free_call;
    call->base.wait = (uint64_t)config->wait * 1000;
    call->is_running =
        request_limit_begin(&running, config->requests, 0, SIZE_MAX);
    wrong = call->is_running ? read_request(call, request)
                             : "too many requests are running, please try "
                               "again";
    if (wrong == NULL) {
        return &call->base;
    }
    refuse(reply, call->is_running ? 400 : 503, wrong);
    free_call(&call->base);
    return NULL;
}
