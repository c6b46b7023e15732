/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a request for addresses of many files.  The first byte of the
 * input selects lines or messages, and how they are packed.  An answer ends,
 * and each part of one in lines is lines of JSON; a part that is written again
 * is the same.
 */
#include <stdlib.h>
#include <string.h>

#include "symbolicated/api/protocols.h"
#include "../t/unit/symc_example.h"

enum { MESSAGES = 1, GZIP = 2, ZSTD = 4, AGAIN = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t flags;

static const char *find_header(const struct api_request *request,
                               const char *name)
{
    if (strcmp(name, "Content-Type") == 0) {
        return (flags & MESSAGES) != 0 ? "application/x-protobuf" : NULL;
    }
    if (strcmp(name, "Content-Encoding") == 0) {
        return (flags & GZIP) != 0   ? "gzip"
               : (flags & ZSTD) != 0 ? "zstd"
                                     : NULL;
    }
    return NULL;
}

static void find_modules(struct api_round *round,
                         const union derived_reader *reader)
{
    size_t i;

    for (i = 0; i < round->nmodules; i++) {
        round->modules[i].state =
            i % 4 == 3 ? API_MODULE_FAILED : API_MODULE_FOUND;
        round->modules[i].reader = reader;
    }
}

/* Lines of JSON, one after the other. */
static void check(struct json_writer *w)
{
    char *line = w->data, *end = w->data + w->size, *next;
    struct json_error error;
    struct json json = {0};

    for (; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        if (next == NULL ||
            json_read(&json, line, (size_t)(next - line), SIZE_MAX, &error) !=
                (size_t)(next - line)) {
            abort();
        }
    }
    json_free(&json);
}

static enum api_next step(struct api_call *call, struct api_reply *reply)
{
    json_write_reset(reply->body);
    reply->nheaders = 0;
    return call->step(call, reply);
}

/* Takes a part, which may have to be written twice. */
static void take_part(struct api_call *call, struct api_reply *reply)
{
    size_t written = reply->body->size;

    if ((flags & AGAIN) != 0 &&
        (step(call, reply) != API_PART || reply->body->size != written)) {
        abort();
    }
    if ((flags & MESSAGES) == 0) {
        check(reply->body);
    }
    call->parts++;
}

static void answer(struct api_call *call, struct api_reply *reply,
                   const union derived_reader *reader)
{
    enum api_next next;

    while ((next = step(call, reply)) != API_FINISHED) {
        if (next == API_WANTS) {
            find_modules(call->round, reader);
        } else if (next == API_PART) {
            take_part(call, reply);
        } else if (next != API_LETS_GO) {
            abort();
        }
    }
    if (call->parts == 0 || reply->body->size > 0) {
        abort();
    }
    call->free(call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct symbolication_config config = {
        .limits = {.body_size = 1 << 20,
                   .modules = 10,
                   .batch_files = 100,
                   .batch_pairs = 10000,
                   .running_size = 1 << 30},
        .symbolize = {.enabled = true, .requests = 1}};
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
    call = symbolize_begin(&request, &reply);
    if (call == NULL) {
        abort();
    }
    answer(call, &reply, &reader);
    json_free(&json);
    free(w.data);
    free(request.body);
    return 0;
}
