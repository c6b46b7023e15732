/*
 * Copyright (C) the ngx_symcache authors
 */
#include "request_log.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/decimal.h"
#include "base/log.h"

#define LINE_MAX_BYTES 1024
#define REFUSAL_MAX 256 /* bytes of an answer */
#define FLUSH_MS 100
#define WHAT_MAX 64 /* of which a line is */

void request_log_flush(struct request_context *context)
{
    if (context->lines_size > 0) {
        log_lines(context->lines, context->lines_size);
        context->lines_size = 0;
    }
}

/* With -v: what was not found, and why. */
static void log_module(const struct api_module *module)
{
    char id[SYMCACHE_ID_TEXT_MAX + 1];

    if (module->state != API_MODULE_FOUND &&
        stats_outcome(module->state) != NULL) {
        symcache_id_print(id, &module->key);
        log_debug(0, "module \"%s/%s\" is %s, symcached was %sasked",
                  module->key.name, id, stats_outcome(module->state),
                  module->asked ? "" : "not ");
    }
}

static void count(struct request_log_counts *counts,
                  const struct api_call *call)
{
    const struct api_round *round = call != NULL ? call->round : NULL;
    const struct api_module *module;
    size_t i;

    for (; round != NULL; round = round->before) {
        for (i = 0; i < round->nmodules; i++) {
            module = &round->modules[i];
            log_module(module);
            if (module->key.kind == SYMCACHE_KIND_SOURCECACHE ||
                module->key.kind == SYMCACHE_KIND_SOURCE) {
                counts->sources[module->state]++;
                continue;
            }
            if (module->key.kind == SYMCACHE_KIND_CODECACHE) {
                counts->programs[module->state]++;
                continue;
            }
            if (module->key.kind == SYMCACHE_KIND_PROGUARDCACHE) {
                counts->mappings[module->state]++;
            }
            counts->states[module->state]++;
            counts->asked += module->asked;
            counts->modules++;
        }
    }
}

void request_log_let_go(struct request_log *log, const struct api_call *call)
{
    count(&log->let_go, call);
}

/* Of the modules of all rounds. */
static struct request_log_counts counts_of(const struct request_log *log,
                                           const struct api_call *call)
{
    struct request_log_counts counts = log->let_go;

    count(&counts, call);
    return counts;
}

struct request_log_line {
    char text[LINE_MAX_BYTES + 1];
    size_t size;
};

/* What has no room is left out. */
static inline void log_bytes(struct request_log_line *line, const char *bytes,
                             size_t n)
{
    if (n <= LINE_MAX_BYTES - line->size) {
        memcpy(line->text + line->size, bytes, n);
        line->size += n;
    }
}

static inline void log_text(struct request_log_line *line, const char *text)
{
    log_bytes(line, text, strlen(text));
}

/* A request that is refused before it is a call has the reason in its answer
 * only, as a text or as {"error":"..."}. */
static void log_refusal(struct request_log_line *line,
                        const struct json_writer *body)
{
    static const char begin[] = "{\"error\":\"", end[] = "\"}";
    size_t size = body != NULL ? body->size : 0, skip = 0;

    if (size > sizeof(begin) + sizeof(end) &&
        memcmp(body->data, begin, sizeof(begin) - 1) == 0 &&
        memcmp(body->data + size - 2, end, 2) == 0) {
        skip = sizeof(begin) - 1;
        size -= skip + sizeof(end) - 1;
    }
    if (size > 0) {
        log_text(line, " failure=");
        log_bytes(line, body->data + skip,
                  size < REFUSAL_MAX ? size : REFUSAL_MAX);
    }
}

static inline void log_number(struct request_log_line *line, const char *name,
                              uint64_t number)
{
    char digits[DECIMAL_MAX + 1];

    digits[DECIMAL_MAX] = '\0';
    log_text(line, name);
    log_text(line, decimal_before(digits + DECIMAL_MAX, number));
}

/* Without printf(), which would take a sixth of a small request. */
static void print_log_line(struct request_log_line *line, const char *what,
                           const struct api_call *call,
                           const struct api_reply *reply,
                           const struct request_log_counts *counts,
                           uint64_t usec)
{
    const size_t *states = counts->states;
    size_t unfound = call != NULL ? call->unfound : 0;

    line->size = 0;
    log_text(line, what);
    log_text(line, " protocol=");
    log_text(line, api_protocol_name(reply->protocol));
    log_number(line, " status=", (uint64_t)reply->status);
    log_number(line, " frames=", call != NULL ? call->nframes : 0);
    log_number(line, " modules=", counts->modules + unfound);
    log_number(line, " missing=",
               states[API_MODULE_MISSING] + states[API_MODULE_UNSUPPORTED] +
                   states[API_MODULE_MALFORMED] + unfound);
    log_number(
        line, " failed=", states[API_MODULE_FAILED] + states[API_MODULE_LATE]);
    log_number(line, " us=", usec);
    if (call != NULL && call->left_out != NULL) {
        log_text(line, " left_out=");
        log_text(line, call->left_out);
    }
    if (call != NULL && call->failure != NULL) {
        log_text(line, " failure=");
        log_text(line, call->failure);
    } else if (reply->status >= 400) {
        log_refusal(line, reply->body);
    }
    line->text[line->size] = '\0';
}

static void add_log_line(struct request_context *context, const char *what,
                         const struct api_call *call,
                         const struct api_reply *reply,
                         const struct request_log_counts *counts,
                         uint64_t usec)
{
    static const struct timeval soon = {.tv_usec = FLUSH_MS * 1000};
    struct request_log_line line;

    if (sizeof(context->lines) - context->lines_size < LINE_MAX_BYTES) {
        request_log_flush(context);
    }
    if (context->lines_size == 0) {
        event_add(context->flush, &soon);
    }
    print_log_line(&line, what, call, reply, counts, usec);
    context->lines_size +=
        log_print(context->lines + context->lines_size, LINE_MAX_BYTES,
                  LOG_LEVEL_INFO, line.text);
}

/* The outcome of a crash report. */
static void count_report(struct stats *stats, const struct api_call *call,
                         const struct api_reply *reply)
{
    bool is_refused = call->work != NULL && reply->status == 200 &&
                      call->work->news == API_WORK_REFUSED;
    const struct api_walk *walk = call->walk;
    size_t i;

    if (reply->protocol == API_APPLE) {
        stats_add(&stats->apple_unreadable, is_refused);
        stats_add(&stats->apple_read,
                  call->work->news == API_WORK_ENDED && reply->status == 200);
        return;
    }
    if (walk == NULL) {
        stats_add(&stats->unreadable, is_refused);
        return;
    }
    stats_add(&stats->dumps, 1);
    stats_add(&stats->without_cfi, walk->without_cfi);
    for (i = 0; i < API_TRUSTS; i++) {
        stats_add(&stats->trusts[i], walk->frames[i]);
    }
}

/* The outcome of a call. */
static void count_call(struct stats *stats, const struct request_log *log,
                       const struct api_call *call,
                       const struct api_reply *reply,
                       const struct request_log_counts *counts, uint64_t now)
{
    size_t i;

    stats_add(&stats->asked, counts->asked);
    stats_add(&stats->parse_usec, log->parsed - log->started);
    if (call != NULL) {
        for (i = 0; i <= API_MODULE_LATE; i++) {
            stats_add(&stats->modules[i], counts->states[i]);
            stats_add(&stats->sources[i], counts->sources[i]);
            stats_add(&stats->mappings[i], counts->mappings[i]);
            stats_add(&stats->programs[i], counts->programs[i]);
        }
        count_report(stats, call, reply);
        for (i = 0; call->scripts != NULL && i < API_SCRIPTS; i++) {
            stats_add(&stats->scripts[i], call->scripts[i]);
        }
        stats_add(&stats->frames, call->nframes);
        stats_add(&stats->search_usec, log->searched - log->parsed);
        stats_add(&stats->answer_usec, now - log->searched);
    }
}

void request_log_answer(struct request_context *context,
                        const struct request_log *log,
                        const struct api_call *call,
                        const struct api_reply *reply)
{
    struct request_log_counts counts = counts_of(log, call);
    uint64_t now = clock_usec();

    count_call(&context->stats, log, call, reply, &counts, now);
    stats_request(&context->stats, reply->protocol, reply->status,
                  now - log->started);
    add_log_line(context, "request", call, reply, &counts, now - log->started);
}

void request_log_pending(struct request_context *context,
                         const struct request_log *log,
                         const struct api_call *call,
                         const struct api_reply *reply, const char *id)
{
    uint64_t usec = clock_usec() - log->started;
    const struct request_log_counts none = {0};
    char what[WHAT_MAX];

    snprintf(what, sizeof(what), "request pending=%s", id);
    stats_request(&context->stats, reply->protocol, reply->status, usec);
    add_log_line(context, what, call, reply, &none, usec);
}

void request_log_end(struct request_context *context,
                     const struct request_log *log,
                     const struct api_call *call,
                     const struct api_reply *reply, const char *id)
{
    struct request_log_counts counts = counts_of(log, call);
    uint64_t now = clock_usec();
    char what[WHAT_MAX];

    snprintf(what, sizeof(what), "call id=%s", id);
    count_call(&context->stats, log, call, reply, &counts, now);
    add_log_line(context, what, call, reply, &counts, now - log->started);
}
