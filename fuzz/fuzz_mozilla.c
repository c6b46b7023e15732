/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a request of Mozilla's protocol, or for a source file, whose
 * text is missing.  The first byte of the input
 * selects the variant.  Every request must get an answer, which is JSON.  All
 * modules are the same SymCache, or are missing.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolicated/api/protocols.h"
#include "../t/unit/symc_example.h"

enum { V4 = 1, LENIENT = 2, DEBUG = 4, ORIGIN = 8, BUSY = 16, SOURCE = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t flags;

static const char *find_header(const struct api_request *request,
                               const char *name)
{
    return (strcmp(name, "Debug") == 0 && (flags & DEBUG) != 0) ||
                   (strcmp(name, "Origin") == 0 && (flags & ORIGIN) != 0)
               ? "1"
               : NULL;
}

static void find_modules(struct api_round *round,
                         const union derived_reader *reader)
{
    size_t i;

    for (i = 0; i < round->nmodules; i++) {
        if (round->modules[i].state == API_MODULE_UNKNOWN) {
            round->modules[i].state =
                round->modules[i].key.kind != SYMCACHE_KIND_SYMCACHE
                    ? API_MODULE_MISSING
                : i % 4 == 3 ? API_MODULE_FAILED : API_MODULE_FOUND;
            round->modules[i].reader = reader;
            round->modules[i].missed = i % 2 == 1;
        }
    }
}

static void check(const struct api_reply *reply)
{
    struct json json = {0};
    struct json_error error;

    if (reply->status < 200 || reply->body->size == 0 ||
        json_read(&json, reply->body->data, reply->body->size, SIZE_MAX,
                  &error) != reply->body->size) {
        abort();
    }
    json_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct symbolication_config config = {
        .limits = {.body_size = 1 << 20,
                   .answer_size = 1 << 20,
                   .frames = 1000,
                   .modules = 100},
        .mozilla = {.enabled = true, .requests = 1}};
    struct json json = {0};
    struct json_writer w = {0};
    struct api_reply reply = {.body = &w};
    union derived_reader reader;
    struct api_request request = {.method = API_POST, .json = &json};
    struct api_call *call;
    char error[128];

    if (size == 0) {
        return 0;
    }
    flags = data[0];
    config.mozilla.lenient = (flags & LENIENT) != 0;
    config.mozilla.on_failure = (flags & BUSY) != 0 ? MOZILLA_ON_FAILURE_503
                                                    : MOZILLA_ON_FAILURE_FALSE;
    request.config = &config;
    request.header = find_header;
    request.size = size - 1;
    request.body = malloc(size);
    if (request.body == NULL) {
        return 0;
    }
    memcpy(request.body, data + 1, size - 1);
    symc_reader_open(&reader.symcache, example_v9, sizeof(example_v9), error,
                     sizeof(error));

    reply.protocol = (flags & V4) != 0 ? API_MOZILLA_V4 : API_MOZILLA_V5;
    call = (flags & SOURCE) != 0 ? mozilla_source_begin(&request, &reply)
                                 : mozilla_begin(&request, &reply);
    if (call != NULL) {
        find_modules(call->round, &reader);
        json_write_reset(&w);
        reply.nheaders = 0;
        (void)call->step(call, &reply);
        call->free(call);
    }
    check(&reply);
    json_free(&json);
    free(w.data);
    free(request.body);
    return 0;
}
