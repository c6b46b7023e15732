/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a request of /symbolicate-js, and behind a NUL a file, which all
 * that is wanted turns out to be: list of artifacts, script, map, original.
 * The call ends, a refusal has a reason, and an answer is JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolicated/api/symbolicator/calls.h"

#define STEPS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What becomes of what a round wants: a file, or nothing of every third; it is
 * a bundle, too, if it can be read as one. */
static void find(struct api_round *round, const union derived_reader *reader)
{
    static const uint8_t digest[32] = {1};
    static union derived_reader bundle;
    char error[200];
    bool is_bundle =
        sourcecache_reader_open(&bundle.sourcecache, reader->bytes.data,
                                reader->bytes.size, error,
                                sizeof(error)) == SYMC_OPENED;
    struct api_module *module;
    size_t i;

    for (i = 0; i < round->nmodules; i++) {
        module = &round->modules[i];
        if (module->key.kind == SYMCACHE_KIND_SOURCECACHE && is_bundle) {
            module->state = API_MODULE_FOUND;
            module->reader = &bundle;
            continue;
        }
        if (module->key.kind != SYMCACHE_KIND_SOURCE || i % 3 == 2) {
            module->state = i % 2 ? API_MODULE_MALFORMED : API_MODULE_MISSING;
            continue;
        }
        module->state = API_MODULE_FOUND;
        module->reader = reader;
        module->digest = digest;
    }
}

static void run(struct api_call *call, const union derived_reader *reader,
                struct json_writer *w)
{
    struct json json = {0};
    struct json_error error;
    enum api_next next = API_WANTS;
    int steps = 0;

    while (next == API_WANTS) {
        struct api_reply reply = {.body = w};

        json_write_reset(w);
        next = call->step(call, &reply);
        if (next == API_WANTS) {
            find(call->round, reader);
        } else if (reply.status == 200 && !w->has_failed &&
                   json_read(&json, w->data, w->size, SIZE_MAX, &error) !=
                       w->size) {
            abort();
        }
        if (++steps > STEPS) {
            abort(); /* it does not end */
        }
    }
    json_free(&json);
}

static const char *no_header(const struct api_request *request,
                             const char *name)
{
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *file = memchr(data, '\0', size);
    const struct symbolication_config config = {
        .limits = {.body_size = SIZE_MAX / 2,
                   .frames = 100,
                   .modules = 50,
                   .answer_size = 1 << 20,
                   .running_size = SIZE_MAX / 2},
        .symbolicator = {.sources = size % 5 == 0
                                        ? SYMBOLICATOR_SOURCES_CONFIGURED
                                        : SYMBOLICATOR_SOURCES_ALLOW,
                         .js = {.enabled = true, .requests = 1}},
        .javascript.scraping = size % 2,
    };
    union derived_reader reader = {.bytes = {"", 0}};
    struct json_writer w = {0};
    struct api_reply reply = {.body = &w};
    struct api_request request = {.header = no_header,
                                  .config = &config,
                                  .query = size % 3 == 0 ? "why=1" : NULL};
    struct api_call *call;
    char *body;

    request.size = file != NULL ? (size_t)(file - data) : size;
    body = malloc(size + 1);
    if (body == NULL) {
        return 0;
    }
    memcpy(body, data, size);
    if (file != NULL) {
        reader.bytes.data = body + request.size + 1;
        reader.bytes.size = size - request.size - 1;
    }
    request.body = body;
    call = js_begin(&request, "scope", &reply);
    if (call != NULL) {
        run(call, &reader, &w);
        call->free(call);
    } else if (reply.status < 400 || w.size == 0) {
        abort(); /* refused without a reason */
    }
    free(w.data);
    free(body);
    return 0;
}
