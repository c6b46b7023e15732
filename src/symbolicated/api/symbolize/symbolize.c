/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symbolize.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "proto/profiler_id.h"
#include "symbolicated/api/build_id.h"
#include "symbolicated/api/protocols.h"
#include "symbolicated/api/request_limit.h"

static request_count symbolize_running;

static void symbolize_free_modules(struct symbolize_call *call)
{
    struct api_round *round = &call->base.first;

    while (round->nmodules > 0) {
        free(round->modules[--round->nmodules].hints);
    }
    table_free(&call->modules);
}

static void symbolize_free_call(struct api_call *base)
{
    struct symbolize_call *call = (struct symbolize_call *)base;

    if (call->is_running) {
        request_limit_end(&symbolize_running, call->body_size);
    }
    input_end(&call->input);
    symbolize_free_modules(call);
    resolver_free(&call->resolver);
    free(call->base.first.modules);
    free(call->addresses);
    free(call->texts);
    free(call->written.data);
    free(call);
}

void symbolize_put(struct json_writer *w, const void *data, size_t size)
{
    char *p = json_write_need(w, size);

    if (p != NULL && size > 0) {
        memcpy(p, data, size);
        w->size += size;
    }
}

uint64_t *symbolize_need_addresses(struct symbolize_call *call, size_t n)
{
    return array_need(&call->addresses, &call->addresses_room,
                      call->naddresses + n + 1,
                      sizeof(call->addresses[0])) == 0
               ? call->addresses + call->naddresses
               : NULL;
}

/* the round ---------------------------------------------------------------- */

/* Reads a file id, as profilers write it; a build id, in hexadecimal digits; or
 * one of both as keys have it. */
static bool symbolize_read_key(const char *text, size_t size,
                               symcache_key_t *key)
{
    if (!symcache_profiler_id_parse(text, size, key)) {
        if (size > SYMCACHE_ID_TEXT_MAX) {
            return false;
        }
        symcache_name_parse(SYMCACHE_NAME_NONE, sizeof(SYMCACHE_NAME_NONE) - 1,
                            key);
        if (symcache_build_id_parse(text, size, key) != SYMCACHE_OK &&
            (symcache_id_parse(text, size, key) != SYMCACHE_OK ||
             (key->id_type != SYMCACHE_ID_BUILD &&
              key->id_type != SYMCACHE_ID_HASH))) {
            return false;
        }
    }
    return true;
}

/* The module of a key in the round.  Returns SYMBOLIZE_NONE without memory. */
static uint32_t symbolize_add_module(struct symbolize_call *call,
                                     const symcache_key_t *key)
{
    struct api_round *round = &call->base.first;
    struct api_module *module = &round->modules[round->nmodules];
    uintptr_t place;
    uint64_t hash;
    size_t at = 0;

    memset(module, 0, sizeof(*module));
    if (build_id_module(module, key) != 0) {
        return SYMBOLIZE_NONE;
    }
    hash = table_hash((uintptr_t)call, module->key.guid,
                      sizeof(module->key.guid));

    while ((place = table_next(&call->modules, hash, &at)) != 0) {
        if (symcache_key_equal(&round->modules[place - 1].key,
                               &module->key)) {
            free(module->hints);
            return (uint32_t)place - 1;
        }
    }
    if (table_add(&call->modules, hash, round->nmodules + 1) != 0) {
        free(module->hints);
        return SYMBOLIZE_NONE;
    }
    module->name = SYMCACHE_NAME_NONE;
    module->name_size = sizeof(SYMCACHE_NAME_NONE) - 1;
    return (uint32_t)round->nmodules++;
}

/* A question was read, into the next place. */
static void symbolize_take_question(struct symbolize_call *call)
{
    struct symbolize_question *question = &call->questions[call->nquestions];
    symcache_key_t key;

    call->naddresses += question->error == NULL ? question->count : 0;
    if (question->error == NULL &&
        (question->file_size == 0 ||
         !symbolize_read_key(call->texts + question->file, question->file_size,
                             &key))) {
        question->error = "this is neither a file id nor a build id";
    }
    if (question->error == NULL) {
        question->module = symbolize_add_module(call, &key);
        if (question->module == SYMBOLIZE_NONE) {
            question->error = call->input.error = "out of memory";
        }
    }
    call->base.nframes += question->error == NULL ? question->count : 0;
    call->nquestions++;
}

/* Is one more question more than the whole request may have? */
static const char *symbolize_find_excess(const struct symbolize_call *call)
{
    const struct symbolication_limits_config *limits = &call->config->limits;

    if (call->counts.questions + call->nquestions > limits->batch_files) {
        return "more files than \"symbolication.limits.batch_files\"";
    }
    return call->base.nframes > limits->batch_pairs
               ? "more addresses than \"symbolication.limits.batch_pairs\""
               : NULL;
}

static size_t symbolize_most_modules(const struct symbolize_call *call)
{
    return call->config->limits.modules < SYMBOLIZE_FILES
               ? call->config->limits.modules
               : SYMBOLIZE_FILES;
}

/* Reads questions for the next round; call->error says why there are no more
 * after them. */
static void symbolize_read_round(struct symbolize_call *call)
{
    bool (*read)(struct symbolize_call *) =
        call->is_in_messages ? symbolize_read_message : symbolize_read_line;
    size_t most = symbolize_most_modules(call);

    symbolize_free_modules(call);
    call->nquestions = call->naddresses = call->texts_size = 0;
    call->at = call->next = 0;
    while (call->error == NULL && call->nquestions < most &&
           call->naddresses < SYMBOLIZE_PAIRS) {
        memset(&call->questions[call->nquestions], 0,
               sizeof(call->questions[0]));
        call->questions[call->nquestions].first = (uint32_t)call->naddresses;
        if (!read(call)) {
            break;
        }
        symbolize_take_question(call);
        call->error = symbolize_find_excess(call);
    }
    if (call->error != NULL) {
        call->nquestions--; /* that was too much */
    } else {
        call->error = call->input.error;
    }
}

/* the answer --------------------------------------------------------------- */

enum symbolize_state symbolize_state(const struct symbolize_call *call,
                                     const struct symbolize_question *question,
                                     unsigned *retry_after)
{
    *retry_after = 0;
    if (question->error != NULL) {
        return SYMBOLIZE_REFUSED;
    }
    switch (call->base.first.modules[question->module].state) {
    case API_MODULE_FOUND:
        return SYMBOLIZE_FOUND;
    case API_MODULE_UNKNOWN:
    case API_MODULE_LATE:
        *retry_after = SYMBOLIZE_SOON;
        return SYMBOLIZE_MISSING;
    case API_MODULE_FAILED:
        *retry_after = SYMBOLIZE_LATER;
        return SYMBOLIZE_FAILED;
    case API_MODULE_UNSUPPORTED:
    case API_MODULE_MALFORMED:
        return SYMBOLIZE_MALFORMED;
    case API_MODULE_MISSING:
        break;
    }
    return SYMBOLIZE_MISSING;
}

static const struct symbolize_writer *
symbolize_writer_of(const struct symbolize_call *call)
{
    return call->is_in_messages ? &symbolize_messages : &symbolize_lines;
}

static void symbolize_resolve(struct symbolize_call *call,
                              const struct symbolize_question *question)
{
    const struct api_module *module =
        &call->base.first.modules[question->module];
    uint32_t i;

    resolver_run(&call->resolver, &module->reader->symcache,
                 call->addresses + question->first, question->count);
    for (i = 0; i < question->count; i++) {
        call->counts.found += call->resolver.places[i].count > 0;
    }
}

static void symbolize_answer(struct symbolize_call *call,
                             const struct symbolize_question *question)
{
    unsigned retry_after;
    enum symbolize_state state =
        symbolize_state(call, question, &retry_after);

    call->counts.questions++;
    call->counts.refused += state == SYMBOLIZE_REFUSED;
    call->counts.missing +=
        state != SYMBOLIZE_FOUND && state != SYMBOLIZE_REFUSED;
    if (state != SYMBOLIZE_REFUSED) {
        call->counts.pairs += question->count;
    }
    if (state == SYMBOLIZE_FOUND && question->count > 0) {
        symbolize_resolve(call, question);
    }
    symbolize_writer_of(call)->answer(&call->written, call, question);
}

/* Writes strings before what uses them. */
static enum api_next symbolize_write_part(struct symbolize_call *call,
                                          struct api_reply *reply)
{
    struct json_writer *w = reply->body;

    if (call->resolver.names.told < call->resolver.names.count) {
        symbolize_writer_of(call)->strings(w, &call->resolver.names);
    }
    symbolize_put(w, call->written.data, call->written.size);
    w->has_failed |=
        call->written.has_failed || call->resolver.names.has_failed;
    reply->status = 200;
    reply->type = symbolize_writer_of(call)->type;
    reply->packing = call->packing;
    api_reply_header(reply, "Cache-Control", "no-store");
    api_reply_header(reply, "Vary", "Accept-Encoding");
    if (call->packing != API_NOT_PACKED) {
        api_reply_header(reply, "Content-Encoding",
                         call->packing == API_ZSTD ? "zstd" : "gzip");
    }
    return API_PART;
}

/* Answers questions from call->at on, until the part is full. */
static enum api_next symbolize_answer_some(struct symbolize_call *call,
                                           struct api_reply *reply)
{
    size_t pairs = 0;

    if (call->next > call->at) {
        resolver_forget_files(&call->resolver); /* one was cut short */
    }
    json_write_reset(&call->written);
    call->counts = call->before;
    for (call->next = call->at;
         call->next < call->nquestions &&
         call->written.size < SYMBOLIZE_PART && pairs < SYMBOLIZE_PART_PAIRS;
         call->next++) {
        symbolize_answer(call, &call->questions[call->next]);
        pairs += call->questions[call->next].count;
    }
    return symbolize_write_part(call, reply);
}

static enum api_next symbolize_answer_end(struct symbolize_call *call,
                                          struct api_reply *reply)
{
    json_write_reset(&call->written);
    symbolize_writer_of(call)->end(&call->written, call);
    call->is_last = true;
    return symbolize_write_part(call, reply);
}

/* The part before has gone out. */
static void symbolize_take_part(struct symbolize_call *call)
{
    call->parts = call->base.parts;
    call->at = call->next;
    call->before = call->counts;
    name_table_tell(&call->resolver.names);
}

static enum api_next symbolize_step(struct api_call *base,
                                    struct api_reply *reply)
{
    struct symbolize_call *call = (struct symbolize_call *)base;

    if (base->parts > call->parts) {
        symbolize_take_part(call);
        if (call->is_last) {
            return API_FINISHED;
        }
        if (call->at == call->nquestions) {
            call->nquestions = 0;
            resolver_forget_files(&call->resolver);
            return API_LETS_GO;
        }
    }
    if (base->is_stopped && call->error == NULL) {
        call->error = "symbolicated stops";
        call->nquestions = call->at;
    }
    if (call->at < call->nquestions) {
        return symbolize_answer_some(call, reply);
    }
    if (call->error == NULL) {
        symbolize_read_round(call);
        if (call->nquestions > 0) {
            return API_WANTS;
        }
    }
    return symbolize_answer_end(call, reply);
}

/* beginning ---------------------------------------------------------------- */

static struct api_call *refuse_symbolize(struct symbolize_call *call,
                                         struct api_reply *reply, int status,
                                         const char *error)
{
    if (call != NULL) {
        symbolize_free_call(&call->base);
    }
    reply->status = status;
    reply->type = "application/json";
    json_write_open(reply->body, '{');
    json_put_text(reply->body, "error", error);
    json_write_close(reply->body, '}');
    return NULL;
}

/* Has a header this word, which is not said to be unwanted? */
static bool symbolize_accepts_type(const struct api_request *request,
                                   const char *word)
{
    const char *p = request->header(request, "Accept-Encoding");
    size_t size = strlen(word);

    for (; p != NULL && *p != '\0'; p += *p == ',') {
        p += strspn(p, " \t");
        if (strncasecmp(p, word, size) == 0 &&
            strchr(" \t;,", p[size]) != NULL) {
            p += size + strspn(p + size, " \t;");
            return strncasecmp(p, "q=0", 3) != 0 ||
                   strspn(p + 3, ".0") != strcspn(p + 3, " \t,");
        }
        p += strcspn(p, ",");
    }
    return false;
}

static struct symbolize_call *
symbolize_new_call(const struct api_request *request, enum input_coding coding)
{
    const struct symbolize_config *config = &request->config->symbolize;
    struct symbolize_call *call = calloc(1, sizeof(*call));
    const char *type = request->header(request, "Content-Type");

    if (call == NULL) {
        return NULL;
    }
    call->base.round = &call->base.first;
    call->base.step = symbolize_step;
    call->base.free = symbolize_free_call;
    call->base.wait = (uint64_t)config->wait * 1000;
    call->config = request->config;
    call->json = request->json;
    call->body_size = request->size;
    call->is_in_messages =
        type != NULL && strncasecmp(type, "application/x-protobuf",
                                    strlen("application/x-protobuf")) == 0;
    call->packing = symbolize_accepts_type(request, "zstd")   ? API_ZSTD
                    : symbolize_accepts_type(request, "gzip") ? API_GZIP
                                                              : API_NOT_PACKED;
    call->is_running = request_limit_begin(
        &symbolize_running, config->requests, request->size,
        request->config->limits.running_size);
    name_table_begin(&call->resolver.names);
    call->base.first.modules =
        calloc(SYMBOLIZE_FILES + 1, sizeof(call->base.first.modules[0]));
    if (call->base.first.modules == NULL || call->resolver.names.has_failed ||
        input_begin(&call->input, coding, request->body, request->size,
                    request->config->limits.body_size) != 0) {
        symbolize_free_call(&call->base);
        return NULL;
    }
    return call;
}

struct api_call *symbolize_begin(const struct api_request *request,
                                 struct api_reply *reply)
{
    enum input_coding coding =
        input_coding(request->header(request, "Content-Encoding"));
    struct symbolize_call *call;

    if (request->method != API_POST) {
        api_reply_header(reply, "Allow", "POST");
        return refuse_symbolize(NULL, reply, 405, "send a POST request");
    }
    if (request->size > request->config->limits.body_size) {
        return refuse_symbolize(NULL, reply, 413,
                                "the body has more bytes than "
                                "\"symbolication.limits.body_size\"");
    }
    if (coding == INPUT_OTHER) {
        return refuse_symbolize(NULL, reply, 415,
                                "the Content-Encoding must be gzip or zstd");
    }
    call = symbolize_new_call(request, coding);
    if (call == NULL) {
        reply->body->has_failed = true;
        return NULL;
    }
    if (!call->is_running) {
        api_reply_header(reply, "Retry-After", "1");
        return refuse_symbolize(call, reply, 503,
                                "too many requests are running");
    }
    return &call->base;
}
