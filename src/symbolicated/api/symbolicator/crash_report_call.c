/*
 * Copyright (C) the ngx_symcache authors
 */
#include "crash_report_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"
#include "symbolicated/api/request_limit.h"
#include "native_call.h"
#include "short_answer.h"
#include "request_sources.h"

#define BOUNDARY_MAX 70
#define CODING_MAX 31
#define QUESTIONS_MAX 16 /* of a worker */

struct crash_call {
    struct api_call api; /* first */
    const struct symbolication_config *config;
    enum crash_kind kind;
    struct api_work work;
    char *order;                /* work.text */
    struct crash_stored stored; /* its url is NULL: it is in a form */
    char scope[SYMBOLICATOR_SCOPE_MAX + 1];
    char domain[SYMBOLICATOR_SCOPE_MAX + 7]; /* also for the log */
    /* What the worker has asked, as requests; their rounds have the files. */
    struct native_call *questions[QUESTIONS_MAX];
    size_t nquestions;
    struct native_call *answer;       /* to what it has come to; or NULL */
    struct api_walk walk;             /* the same */
    struct api_input_file *input_files; /* of the last question */
    bool is_counted;
};

static request_count crash_running[CRASH_KINDS]; /* requests that are posted */

/* answers ----------------------------------------------------------------- */

static enum api_next crash_answer_failed(struct api_reply *reply,
                                         const char *message)
{
    reply->status = 200;
    reply->type = ANSWER_JSON_TYPE;
    json_write_reset(reply->body);
    json_write_open(reply->body, '{');
    json_put_text(reply->body, "status", "failed");
    json_put_text(reply->body, "message", message);
    json_write_close(reply->body, '}');
    return API_FINISHED;
}

static enum api_next crash_answer_timed_out(const struct crash_call *call,
                                            struct api_reply *reply)
{
    if (call->api.is_stopped) {
        answer_later(reply, "the server is stopping");
    } else {
        answer_status(reply, "timeout", NULL);
    }
    return API_FINISHED;
}

/* The worker has no result. */
static enum api_next crash_answer_refused(struct crash_call *call,
                                          struct api_reply *reply)
{
    const char *text = call->work.said != NULL ? call->work.said : "";

    switch (call->work.detail) {
    case CRASH_FAILED:
        return crash_answer_failed(reply, text);
    case CRASH_NO_FORM:
        answer_text(reply, 400,
                    "Invalid `boundary` for `multipart/form-data` request");
        break;
    case CRASH_BAD_PART:
        if (call->stored.url != NULL) {
            answer_text(
                reply, 422,
                "Failed to deserialize the JSON body into the target type: "
                "symbolicate.rewrite_first_module: %s",
                text);
        } else {
            answer_detail(reply, 400, text);
        }
        break;
    case CRASH_LARGE_PART:
        answer_detail(reply, 413, text);
        break;
    case CRASH_BAD_CODING:
        answer_text(reply, 415, "%s", text);
        break;
    default:
        answer_later(reply, "out of memory");
        break;
    }
    return API_FINISHED;
}

/* requests ---------------------------------------------------------------- */

/* Members that the client sent with a stored dump come before those that the
 * worker read from the dump.  Returns 0, or -1 without memory. */
static int crash_add_members(struct crash_call *call)
{
    const struct json_writer *members = &call->stored.members;
    char *said = call->work.said;
    int n;

    if (call->stored.url == NULL || call->work.size == 0) {
        return 0; /* a worker that was taken over may say nothing */
    }
    n = asprintf(&call->work.said, "%.*s,%.*s", (int)members->size - 1,
                 members->data, (int)call->work.size - 1, said + 1);
    free(said);
    if (n < 0) {
        call->work.said = NULL;
        return -1;
    }
    call->work.size = (size_t)n;
    return 0;
}

/* Makes a call from the worker's report.  Returns NULL when it has
 * answered. */
static struct native_call *crash_read_said(struct crash_call *call,
                                           bool is_question,
                                           struct api_reply *reply)
{
    struct native_call *inner = native_call_new(call->config);
    const struct symbolicator_limits limits = {
        .frames = call->config->limits.frames,
        .modules = call->config->limits.modules,
        .takes_report = true,
    };
    char error[256] = "out of memory";
    int status = 503;

    if (inner != NULL && call->work.said != NULL &&
        crash_add_members(call) == 0) {
        inner->text = call->work.said;
        call->work.said = NULL;
        status =
            symbolicator_parse(&inner->request, inner->text, call->work.size,
                               &limits, error, sizeof(error));
        memcpy(inner->request.scope, call->scope, sizeof(call->scope));
    }
    if (status == 0) {
        status = symbolicator_request_sources_check(
            call->config, &inner->request, error, sizeof(error));
    } else if (status == 422) {
        status = 400; /* its parts are of the client */
    }
    if (status == 0) {
        inner->wants_cfi = is_question;
        if (call->kind == CRASH_APPLE) {
            inner->request.wants_context = true; /* whatever options say */
        }
        if (native_call_want(inner) == 0) {
            return inner;
        }
    }
    answer_detail(reply, status == 0 || status == 500 ? 503 : status, error);
    if (inner != NULL) {
        inner->api.free(&inner->api);
    }
    return NULL;
}

/* The rounds of a call become those of this one. */
static void crash_take_over(struct crash_call *call, struct native_call *inner)
{
    inner->api.first.before = call->api.round;
    call->api.round = &inner->api.first;
    call->api.tenant = inner->api.tenant;
    call->api.tenant_size = inner->api.tenant_size;
}

static uint8_t crash_state_of(const struct api_module *module)
{
    switch (module->state) {
    case API_MODULE_FOUND:
        return CRASH_FILE_FOUND;
    case API_MODULE_MISSING:
    case API_MODULE_UNSUPPORTED:
        return CRASH_FILE_MISSING;
    case API_MODULE_MALFORMED:
        return CRASH_FILE_MALFORMED;
    case API_MODULE_FAILED:
        return CRASH_FILE_FETCHING_FAILED;
    default:
        return CRASH_FILE_OTHER;
    }
}

/* Tells the worker what has become of the files that it asked for. */
static enum api_next crash_give_files(struct crash_call *call,
                                      struct api_reply *reply)
{
    const struct native_call *inner = call->questions[call->nquestions - 1];
    const struct api_round *round = &inner->api.first;
    const struct api_module *module;
    size_t i;

    if (symbolicator_round_is_late(round)) {
        return crash_answer_timed_out(call, reply);
    }
    free(call->input_files);
    call->input_files =
        calloc(round->nmodules + 1, sizeof(call->input_files[0]));
    if (call->input_files == NULL) {
        answer_later(reply, "out of memory");
        return API_FINISHED;
    }
    for (i = 0; i < round->nmodules; i++) {
        module = &round->modules[i];
        call->input_files[i] = (struct api_input_file){
            .index = (uint32_t)inner->wanted[i],
            .what = module->key.kind == SYMCACHE_KIND_CFICACHE ? CRASH_CFI
                                                               : CRASH_NAMES,
            .state = crash_state_of(module),
            .module = module->state == API_MODULE_FOUND ? module : NULL};
    }
    call->work.input_files = call->input_files;
    call->work.ninput_files = round->nmodules;
    return API_WORKS;
}

static enum api_next crash_begin_question(struct crash_call *call,
                                          struct api_reply *reply)
{
    struct native_call *inner;

    if (call->nquestions == QUESTIONS_MAX) {
        return crash_answer_failed(reply, "internal error");
    }
    inner = crash_read_said(call, true, reply);
    if (inner == NULL) {
        return API_FINISHED;
    }
    call->questions[call->nquestions++] = inner;
    if (inner->api.first.nmodules == 0) {
        return crash_give_files(call, reply);
    }
    crash_take_over(call, inner);
    call->api.attempts = inner->api.attempts == API_ATTEMPTS_OF_ALL
                             ? API_ATTEMPTS_OF_ALL
                             : API_ATTEMPTS_OF_NONE;
    return API_WANTS;
}

/* The worker needs memory for the unpacked body. */
static enum api_next crash_give_room(struct crash_call *call,
                                     struct api_reply *reply)
{
    struct spool *body = call->work.body;

    free(call->work.said);
    call->work.said = NULL;
    call->work.ninput_files = 0;
    if (atomic_load(&body->counted) <= body->size &&
        spool_count(body, call->config->limits.crash_size) != 0) {
        answer_busy(reply);
        return API_FINISHED;
    }
    return API_WORKS;
}

static enum api_next crash_answer_question(struct crash_call *call,
                                           struct api_reply *reply)
{
    if (call->work.said == NULL) {
        return crash_give_files(call, reply);
    }
    return strcmp(call->work.said, CRASH_ROOM) == 0
               ? crash_give_room(call, reply)
               : crash_begin_question(call, reply);
}

/* For the log. */
static void crash_note_left_out(struct crash_call *call)
{
    const struct symbolicator_request *report = &call->answer->request;
    size_t i;

    for (i = 0; report->left_out != 0 && i < CRASH_LIMITS; i++) {
        if (json_is(&report->json, report->left_out, crash_limits[i])) {
            call->api.left_out = crash_limits[i];
        }
    }
}

/* For the metrics. */
static void crash_count_walk(struct crash_call *call)
{
    const struct symbolicator_request *report = &call->answer->request;
    uint32_t status;
    size_t i;

    for (i = 0; i < report->nframes; i++) {
        call->walk.frames[report->frames[i].trust]++;
    }
    for (i = 0; i < report->nmodules; i++) {
        status = report->modules[i].unwind_status;
        call->walk.without_cfi += status != 0 &&
                                  !json_is(&report->json, status, "found") &&
                                  !json_is(&report->json, status, "unused");
    }
    call->api.walk = &call->walk;
}

/* Finds the answer's module at the address of a question's; or NULL.  *at is
 * where the last one was: both lists have the same order. */
static struct symbolicator_result *
crash_result_at(const struct native_call *answer, uint64_t address, size_t *at)
{
    size_t i, n = answer->request.nmodules;

    for (i = 0; i < n; i++, *at = (*at + 1) % n) {
        if (answer->request.modules[*at].image_addr == address) {
            return &answer->results[*at];
        }
    }
    return NULL;
}

/* What a module has, and its candidates, are also those of its CFI. */
static void crash_take_cfi(struct crash_call *call)
{
    const struct native_call *question;
    const struct api_module *module;
    struct symbolicator_result *result;
    size_t i, k, at = 0;

    for (i = 0; i < call->nquestions; i++) {
        question = call->questions[i];
        for (k = 0; k < question->api.first.nmodules; k++) {
            module = &question->api.first.modules[k];
            result = crash_result_at(
                call->answer,
                question->request.modules[question->wanted[k]].image_addr,
                &at);
            if (result != NULL && module->key.kind == SYMCACHE_KIND_CFICACHE) {
                result->cfi[module->key.id_type == SYMCACHE_ID_PE] = module;
            }
        }
    }
}

static enum api_next crash_go_on(struct crash_call *call,
                                 struct api_reply *reply)
{
    struct native_call *inner = call->answer;
    enum api_next next;

    if (inner == NULL) {
        inner = call->answer = crash_read_said(call, false, reply);
        if (inner == NULL) {
            return API_FINISHED;
        }
        crash_note_left_out(call);
        if (call->kind == CRASH_MINIDUMP) {
            crash_count_walk(call);
        }
        crash_take_over(call, inner);
        crash_take_cfi(call);
        call->api.attempts = inner->api.attempts;
        call->api.nframes = inner->api.nframes;
        if (inner->api.first.nmodules > 0) {
            return API_WANTS;
        }
    }
    if (symbolicator_round_is_late(&inner->api.first) ||
        symbolicator_round_is_late(&inner->images)) {
        return crash_answer_timed_out(call, reply);
    }
    next = inner->api.step(&inner->api, reply);
    call->api.round = inner->api.round;
    return next;
}

static enum api_next crash_report_step(struct api_call *api,
                                       struct api_reply *reply)
{
    struct crash_call *call = (struct crash_call *)api;

    if (call->work.news != API_WORK_ENDED || call->answer == NULL) {
        api_reply_header(reply, "Cache-Control", "no-store");
    }
    switch (call->work.news) {
    case API_WORK_WANTS:
        return crash_answer_question(call, reply);
    case API_WORK_ENDED:
        return crash_go_on(call, reply);
    case API_WORK_REFUSED:
        return crash_answer_refused(call, reply);
    case API_WORK_DIED:
        return crash_answer_failed(reply, "internal error");
    case API_WORK_UNABLE:
        answer_later(reply, "no worker is available");
        return API_FINISHED;
    case API_WORK_UNFETCHED:
        return crash_answer_failed(reply, call->work.said);
    case API_WORK_LATE:
        return crash_answer_timed_out(call, reply);
    default:
        return API_WORKS;
    }
}

/* calls ------------------------------------------------------------------- */

static bool crash_report_counts(const struct api_call *api, const char *source)
{
    const struct crash_call *call = (const struct crash_call *)api;
    const struct native_call *inner =
        call->answer != NULL ? call->answer
                             : call->questions[call->nquestions - 1];

    return symbolicator_request_sources_has(call->config, &inner->request,
                                            source);
}

static void crash_report_release(struct api_call *api)
{
    struct crash_call *call = (struct crash_call *)api;

    if (call->is_counted) {
        request_limit_end(&crash_running[call->kind], 0);
    }
    if (call->answer != NULL) {
        call->answer->api.free(&call->answer->api);
    }
    while (call->nquestions > 0) {
        call->nquestions--;
        call->questions[call->nquestions]->api.free(
            &call->questions[call->nquestions]->api);
    }
    spool_unref(call->work.body);
    free(call->work.said);
    free(call->input_files);
    free(call->order);
    crash_stored_free(&call->stored);
    free(call);
}

/*
 * A worker reads bodies of one scope, which is a customer.  Without a scope,
 * all are the operator's, unless clients bring sources of their own: then each
 * body has a worker of its own.
 */
static void crash_set_domain(struct crash_call *call)
{
    bool is_strangers =
        call->config->symbolicator.sources == SYMBOLICATOR_SOURCES_ALLOW;

    if (call->scope[0] != '\0' || !is_strangers) {
        snprintf(call->domain, sizeof(call->domain), "scope=%s", call->scope);
        call->work.domain = call->domain;
    }
}

/* Says what is to be done with the body, which is a form if there is a
 * boundary.  Returns 0, or -1 without memory. */
static int crash_write_order(struct crash_call *call, const char *boundary,
                             const char *coding)
{
    static const struct {
        enum symbolicator_correction from;
        enum crash_correction to;
    } words[] = {
        {CORRECTION_ARM_CFI, CRASH_ARM_CFI},
        {CORRECTION_ARM64_PE_CFI, CRASH_ARM64_CFI},
        {CORRECTION_CFI_EXPRESSIONS, CRASH_CFI_EXPRESSIONS},
        {CORRECTION_CONSTANT_SP, CRASH_CONSTANT_SP},
        {CORRECTION_PACKED_DUMPS, CRASH_PACKED},
        {CORRECTION_APPLE_REGISTERS, CRASH_APPLE_REGISTERS},
        {CORRECTION_APPLE_IMAGES, CRASH_APPLE_IMAGES},
        {CORRECTION_APPLE_HEADERS, CRASH_APPLE_HEADERS},
        {CORRECTION_APPLE_NAMES, CRASH_APPLE_NAMES},
        {CORRECTION_APPLE_EXCEPTION, CRASH_APPLE_EXCEPTION},
    };
    unsigned wanted = call->config->symbolicator.corrections, set = 0;
    bool has_sources =
        call->config->symbolicator.sources ==
            SYMBOLICATOR_SOURCES_CONFIGURED ||
        call->config->symbolicator.sources == SYMBOLICATOR_SOURCES_ALLOW;
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        set |= (wanted >> words[i].from & 1) != 0 ? words[i].to : 0;
    }
    if (asprintf(&call->order,
                 "%s %s\ncoding %s\ncorrections %u\nsources %d\n"
                 "unpacked %llu",
                 boundary != NULL ? "boundary" : "rewrite",
                 boundary != NULL               ? boundary
                 : call->stored.rewrite != NULL ? call->stored.rewrite
                                                : "[]",
                 coding, set, has_sources,
                 (unsigned long long)call->config->limits.crash_size) < 0) {
        call->order = NULL;
        return -1;
    }
    call->work.text = call->order;
    return 0;
}

static struct crash_call *new_call(const struct symbolication_config *config,
                                   enum crash_kind kind, const char *scope)
{
    struct crash_call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        return NULL;
    }
    call->config = config;
    call->api.wait = SYMBOLICATOR_LIMIT_MS;
    call->api.round = &call->api.first;
    call->api.step = crash_report_step;
    call->api.counts = crash_report_counts;
    call->api.free = crash_report_release;
    call->api.work = &call->work;
    snprintf(call->scope, sizeof(call->scope), "%s", scope);
    call->kind = call->work.kind = kind;
    call->work.limit = config->limits.frames;
    crash_set_domain(call);
    return call;
}

/* The parameter "boundary" of a form's type.  Returns false if there is
 * none. */
static bool crash_read_boundary(const char *type,
                                char boundary[BOUNDARY_MAX + 1])
{
    const char *p = type != NULL ? strchr(type, ';') : NULL;
    size_t n;

    if (p == NULL || strncasecmp(type, "multipart/form-data", 19) != 0) {
        return false;
    }
    for (; p != NULL; p = strchr(p, ';')) {
        p += 1 + strspn(p + 1, " \t");
        if (strncasecmp(p, "boundary=", 9) == 0) {
            p += 9;
            n = *p == '"' ? strcspn(++p, "\"") : strcspn(p, "; \t");
            snprintf(boundary, BOUNDARY_MAX + 1, "%.*s", (int)n, p);
            return n > 0 && n <= BOUNDARY_MAX;
        }
    }
    return false;
}

const struct event_config *
crash_config(const struct symbolication_config *config, enum crash_kind kind)
{
    return kind == CRASH_APPLE ? &config->symbolicator.apple
                               : &config->symbolicator.minidump;
}

/* The last step of a begin: counts the call among those that run.  NULL: it
 * may not run, and is gone. */
static struct api_call *crash_report_begun(struct crash_call *call,
                                           const char *boundary,
                                           const char *coding,
                                           struct api_reply *reply)
{
    call->is_counted = request_limit_begin(
        &crash_running[call->kind],
        crash_config(call->config, call->kind)->requests, 0, SIZE_MAX);
    if (call->is_counted && crash_write_order(call, boundary, coding) == 0) {
        return &call->api;
    }
    crash_report_release(&call->api);
    answer_busy(reply);
    return NULL;
}

struct api_call *crash_begin(const struct api_request *request,
                             enum crash_kind kind, const char *scope,
                             struct api_reply *reply)
{
    const struct symbolication_config *config = request->config;
    const char *coding = request->header(request, "Content-Encoding");
    char boundary[BOUNDARY_MAX + 1];
    struct crash_call *call;

    coding = coding != NULL ? coding : "";
    if (strlen(coding) > CODING_MAX) {
        answer_text(reply, 415, "Content-Encoding is not supported");
        return NULL;
    }
    if (request->size > config->limits.crash_size) {
        answer_detail(reply, 413, "the request is too large");
        return NULL;
    }
    if (!crash_read_boundary(request->header(request, "Content-Type"),
                             boundary) ||
        strpbrk(boundary, "\r\n") != NULL || request->spool == NULL) {
        answer_text(reply, 400,
                    "Invalid `boundary` for `multipart/form-data` request");
        return NULL;
    }
    call = new_call(config, kind, scope);
    if (call == NULL) {
        answer_text(reply, 503, "out of memory");
        return NULL;
    }
    call->work.body = spool_ref(request->spool);
    return crash_report_begun(call, boundary, coding, reply);
}

void crash_stored_free(struct crash_stored *stored)
{
    secret_free(stored->token);
    free(stored->url);
    free(stored->rewrite);
    json_write_forget(&stored->members);
}

/* A URL that is relative is not asked for. */
static bool crash_has_scheme(const char *url)
{
    size_t n = strspn(url, "abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

    return n > 0 && url[n] == ':';
}

struct api_call *crash_begin_stored(const struct symbolication_config *config,
                                    struct crash_stored *stored,
                                    const char *scope, struct api_reply *reply)
{
    struct crash_call *call = new_call(config, stored->kind, scope);

    if (call == NULL) {
        crash_stored_free(stored);
        answer_text(reply, 503, "out of memory");
        return NULL;
    }
    call->stored = *stored;
    call->work.url = stored->url;
    call->work.token = stored->token;
    if (!crash_has_scheme(stored->url)) {
        crash_answer_failed(reply,
                            "download failed: relative URL without a base");
        crash_report_release(&call->api);
        return NULL;
    }
    return crash_report_begun(call, NULL, "", reply);
}
