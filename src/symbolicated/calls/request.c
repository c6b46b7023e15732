/*
 * Copyright (C) the ngx_symcache authors
 */
#include "request.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "base/zeroed.h"
#include "body_work.h"
#include "api_reply.h"
#include "running_request.h"

/* A larger answer is sent without a copy, and its buffer is not kept for the
 * next one. */
#define WRITER_KEPT (1024 * 1024)

/* A search has this long beyond the call's own time: for slow disks. */
#define GRACE_MS 5000

/* A connection waits this much longer than the client asked for, so that
 * answers that symcached already has need no poll. */
#define MOMENT_MS 100

/* Until a connection that waits for a disk is looked at again. */
#define LOOK_MS 20

/* The same of the values of a request. */
#define VALUES_KEPT 65536

/* Longer reports of a worker, of thousands of frames, are read in a thread. */
#define SAID_LARGE (256 * 1024)

#define BROKEN_TRIES 3

/* In the log and the metrics, as nginx has it: the client did not wait. */
#define CLIENT_GONE 499

static void request_on_flush(evutil_socket_t fd, short what, void *arg)
{
    request_log_flush(arg);
}

/* the answer -------------------------------------------------------------- */

void request_stop_waiting(struct request *request)
{
    if (request->timer != NULL) {
        LIST_REMOVE(request, entry);
        event_free(request->timer);
        request->timer = NULL;
    }
}

/* Lets the files of all rounds go. */
static void free_searches(struct request *request)
{
    struct search *before;

    for (; request->search != NULL; request->search = before) {
        before = search_before(request->search);
        search_free(request->search);
    }
}

void request_free(struct request *request)
{
    stats_add(&request->context->stats.running, (uint64_t)-1);
    body_work_free(request->body);
    request_stop_waiting(request);
    if (request->is_sending) {
        LIST_REMOVE(request, entry);
    }
    packer_free(request->packer);
    free_searches(request);
    if (request->call != NULL && request->call->poll != NULL) {
        pending_poll_end(&request->poll);
    }
    if (request->call != NULL) {
        free(request->call->failure);
        request->call->free(request->call);
    }
    settings_unref(request->settings);
    free(request->texts);
    free(request);
}

static void reset_reply(struct request *request)
{
    enum api_protocol protocol = request->reply.protocol;
    struct json_writer *writer = &request->context->writer;

    memset(&request->reply, 0, sizeof(request->reply));
    request->reply.protocol = protocol;
    request->reply.body = writer;
    json_write_reset(writer);
    writer->is_python = false;
}

/* What a large request has left behind. */
static void trim_memory(struct request_context *context)
{
    if (context->writer.room > WRITER_KEPT) {
        free(context->writer.data);
        memset(&context->writer, 0, sizeof(context->writer));
    }
    if (context->json.room > VALUES_KEPT) {
        json_free(&context->json);
    }
}

/* Gives the answer to the polls of a call that went on. */
static void keep_answer(struct request *request)
{
    struct request_context *context = request->context;
    char id[PENDING_CALL_ID_SIZE];

    memcpy(id, pending_call_id(request->pending), sizeof(id));
    request_log_end(context, &request->record, request->call, &request->reply,
                    id);
    if (!pending_call_end(
            request->pending, &request->reply,
            request->settings->symbolication->symbolicator.kept_size)) {
        stats_add(&context->stats.lost, 1);
        log_warn(0,
                 "the answer of call %s has %zu bytes, for which "
                 "\"symbolication.symbolicator.kept_size\" has no room",
                 id, request->reply.body->size);
    }
    stats_add(&context->stats.pending, (uint64_t)-1);
}

/* The reply is whole, or there was no memory for it. */
static void request_send_reply(struct request *request)
{
    struct request_context *context = request->context;
    struct json_writer *writer = request->reply.body;
    struct http_field fields[API_HEADERS_MAX];
    struct http_request *http = request->http;
    struct http_reply reply;

    if (request->call != NULL && request->call->parts > 0) {
        streamed_answer_end(request);
        return;
    }
    if (writer->has_failed) {
        api_reply_set_failed(&request->reply);
    }
    if (http == NULL) {
        keep_answer(request);
        request_free(request);
        trim_memory(context);
        return;
    }
    reply = api_reply_http(&request->reply, fields);
    if (writer->size > WRITER_KEPT &&
        !api_reply_send_large(
            &request->reply,
            request->settings->symbolication->limits.answer_size, &reply)) {
        api_reply_set_failed(&request->reply);
        reply = api_reply_http(&request->reply, fields);
    }
    request_log_answer(context, &request->record, request->call,
                       &request->reply);
    /* first: a client that has the answer can ask again at once, and running
     * requests can be limited */
    request_free(request);
    http_reply(http, &reply);
    trim_memory(context);
}

/* There is no memory. */
void request_fail(struct request *request)
{
    reset_reply(request);
    request->reply.body->has_failed = true;
    request_send_reply(request);
}

/* A round is known now, perhaps while another one is searched again. */
static void on_searched(void *arg)
{
    struct request *request = arg;
    const struct search *s;

    for (s = request->search; s != NULL; s = search_before(s)) {
        if (!search_has_ended(s)) {
            return;
        }
    }
    request_go_on(request);
}

static void stop_searches(struct request *request)
{
    struct search *s;

    for (s = request->search; s != NULL; s = search_before(s)) {
        search_stop(s);
    }
}

static void request_on_late(evutil_socket_t fd, short what, void *arg)
{
    struct request *request = arg;

    stop_searches(request);
    if (request->call->work != NULL &&
        request->call->work->news == API_WORK_NONE) {
        request->call->work->news = API_WORK_LATE;
    }
    request_go_on(request);
}

/* One that was closed would keep its place among those that run until its
 * modules are there. */
void request_gone(void *arg)
{
    struct request *request = arg;

    request->reply.status = CLIENT_GONE;
    request->record.searched = clock_usec();
    request_log_answer(request->context, &request->record, request->call,
                       &request->reply);
    request_free(request);
}

static bool may_go_on(const struct request *request)
{
    return request->http != NULL && request->call->answer_pending != NULL;
}

/* Milliseconds from the begin of the request, to on_limit(). */
static uint64_t limit_of(const struct request *request)
{
    if (request->call->poll != NULL) {
        return request->call->wait;
    }
    return may_go_on(request) ? request->call->patience + MOMENT_MS
                              : request->call->wait + GRACE_MS;
}

static void on_limit(evutil_socket_t fd, short what, void *arg);

/* Returns 0, or -1 without memory. */
static int wait_until(struct request *request, uint64_t ms)
{
    uint64_t spent = (clock_usec() - request->begun) / 1000;
    struct timeval limit;

    ms = spent < ms ? ms - spent : 0;
    limit.tv_sec = (time_t)(ms / 1000);
    limit.tv_usec = (suseconds_t)(ms % 1000 * 1000);
    if (request->timer == NULL) {
        request->timer =
            evtimer_new(request->context->searcher.base, on_limit, request);
        if (request->timer == NULL) {
            return -1;
        }
        LIST_INSERT_HEAD(&request->context->waiting, request, entry);
        if (request->http != NULL) {
            http_request_watch(request->http, request_gone, request);
        }
    }
    return event_add(request->timer, &limit);
}

static int request_wait_on(struct request *request)
{
    return wait_until(request, limit_of(request));
}

/* The connection is told that the call goes on without it; or it ends, as there
 * is no room. */
static void leave_connection(struct request *request)
{
    const struct symbolicator_config *config =
        &request->settings->symbolication->symbolicator;
    struct http_request *http = request->http;
    struct http_field fields[API_HEADERS_MAX];
    struct http_reply reply;

    request->texts = http_request_take(http);
    if (request->texts != NULL) {
        request->pending = pending_call_new(config->node, config->kept_size);
    }
    reset_reply(request);
    request->call->answer_pending(
        &request->reply,
        request->pending != NULL ? pending_call_id(request->pending) : NULL);
    if (request->pending != NULL && request->reply.body->has_failed) {
        /* its id is not known */
        pending_call_end(request->pending, &request->reply, 0);
        request->pending = NULL;
    }
    if (request->pending == NULL) {
        request_send_reply(request);
        return;
    }
    stats_add(&request->context->stats.pending, 1);
    request_log_pending(request->context, &request->record, request->call,
                        &request->reply, pending_call_id(request->pending));
    reply = api_reply_http(&request->reply, fields);
    request->http = NULL;
    request_wait_on(request);
    http_reply(http, &reply);
}

static bool is_looking(const struct request *request)
{
    const struct search *s;

    for (s = request->search; s != NULL && !search_is_looking(s);
         s = search_before(s)) {
    }
    return s != NULL;
}

/* The time is over, that of the connection or that of the call. */
static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct request *request = arg;
    uint64_t spent = (clock_usec() - request->record.started) / 1000;

    if (!may_go_on(request)) {
        request_on_late(fd, what, arg);
    } else if (is_looking(request) &&
               spent < request->call->patience + GRACE_MS) {
        /* what lies here needs no poll */
        wait_until(request, spent + LOOK_MS);
    } else {
        leave_connection(request);
    }
}

/* Makes modules unknown whose file was cut short.  Are there some? */
static bool is_broken(struct request *request)
{
    struct search *s;
    bool broken = false;

    for (s = request->search; s != NULL; s = search_before(s)) {
        broken = search_is_broken(s) || broken;
    }
    return broken;
}

/* A search for the newest round of the call.  Returns 0, or -1 without
 * memory. */
static int add_round(struct request *request)
{
    struct search *search = search_new(
        &request->context->searcher, request->settings, request->call,
        request->begun, request->search, on_searched, request);

    if (search == NULL) {
        return -1;
    }
    request->search = search;
    return 0;
}

/* Does the call want more than it may?  That is a fault of ours, as protocols
 * count what a request names. */
static bool wants_too_much(const struct request *request)
{
    const struct api_round *round;
    size_t rounds = 0, modules = 0;

    for (round = request->call->round; round != NULL; round = round->before) {
        rounds++;
        modules += round->nmodules;
    }
    return rounds > API_ROUNDS_MAX ||
           modules >
               8 * (size_t)request->settings->symbolication->limits.modules;
}

/*
 * Searches for what is unknown.  Returns true if all of it is known now; or
 * false: it will be, or the request has been answered.
 */
static bool search_modules(struct request *request)
{
    bool is_known = true;
    struct search *s;

    for (s = request->search; s != NULL; s = search_before(s)) {
        is_known = search_run(s) && is_known;
    }
    if (is_known) {
        return true;
    }
    if (request->context->is_stopping) {
        stop_searches(request);
        request->tries = BROKEN_TRIES;
        request->call->is_stopped = true;
        return true;
    }
    if (request_wait_on(request) != 0) {
        request_fail(request);
    }
    return false;
}

/* The call's work has news: a worker that has died needs no more files. */
static void on_work(void *arg)
{
    struct request *request = arg;

    stop_searches(request);
    stats_add(&request->context->stats.walk_usec,
              clock_usec() - request->worked);
    request_go_on(request);
}

/* Begins the work of the call, or gives it files; then it is waited for. */
static void run_work(struct request *request)
{
    if (request->context->is_stopping) {
        request->call->work->news = API_WORK_LATE;
        request->call->is_stopped = true;
        request_go_on(request);
        return;
    }
    request->worked = clock_usec();
    if (request->body == NULL) {
        request->body = body_work_start(
            request->context->searcher.base, request->context->pool,
            &request->settings->helper, request->call,
            api_protocol_name(request->reply.protocol),
            request->settings->symbolication->limits.body_size, on_work,
            request);
    } else {
        body_work_give(request->body, request->search);
    }
    if (request->body == NULL || request_wait_on(request) != 0) {
        request_fail(request);
    }
}

static void on_polled(void *arg)
{
    struct request *request = arg;

    request->call->poll->answer = pending_poll_answer(&request->poll);
    request->call->poll->news = API_POLL_ENDED;
    request_go_on(request);
}

/* Looks for the call that this one polls, and waits for its end. */
static void poll_call(struct request *request)
{
    struct api_poll *poll = request->call->poll;

    poll->news = pending_poll_start(&request->poll, request->context->inbox,
                                    poll->id, on_polled, request);
    poll->answer = pending_poll_answer(&request->poll);
    if (poll->news != API_POLL_RUNS || request->context->is_stopping) {
        request->call->is_stopped = request->context->is_stopping;
        request_go_on(request);
    } else if (request_wait_on(request) != 0) {
        request_fail(request);
    }
}

/* The rounds that follow have a time of their own. */
static void request_let_go(struct request *request)
{
    request_log_let_go(&request->record, request->call);
    free_searches(request);
    request->begun = clock_usec();
}

/*
 * A step was taken.  A file that is cut short while it is read gives nonsense;
 * then the step is taken again, without it; one that lets all go has read none.
 * At the last try such files stay, as the step may have named them to a worker.
 * Returns whether there is a step to take now; if not, the request waits or has
 * been answered.
 */
static bool take_step(struct request *request, enum api_next next)
{
    if (next != API_LETS_GO && request->tries + 1 < BROKEN_TRIES &&
        is_broken(request)) {
        request->tries++;
        stats_add(&request->context->stats.cut, 1);
    } else if (next == API_FINISHED) {
        request_send_reply(request);
        return false;
    } else if (next == API_WORKS) {
        run_work(request);
        return false;
    } else if (next == API_POLLS) {
        poll_call(request);
        return false;
    } else if (next == API_PART) {
        streamed_answer_part(request);
        return false;
    } else if (next == API_LETS_GO) {
        request_let_go(request);
        return true;
    }
    if (next == API_WANTS &&
        (wants_too_much(request) || add_round(request) != 0)) {
        request_fail(request);
        return false;
    }
    return search_modules(request);
}

/* A step has ended that was taken in another thread. */
static void on_stepped(void *arg, enum api_next next,
                       struct json_writer *written)
{
    struct request *request = arg;
    struct json_writer *writer = &request->context->writer;

    free(writer->data);
    *writer = *written;
    memset(written, 0, sizeof(*written));
    request->reply.body = writer;
    request->step = NULL;
    LIST_REMOVE(request, entry);
    if (take_step(request, next)) {
        request_go_on(request);
    }
}

static bool request_is_large(const struct request *request)
{
    const struct api_work *work = request->call->work;

    return (request->call->is_large != NULL &&
            request->call->is_large(request->call)) ||
           (work != NULL && work->news == API_WORK_ENDED &&
            work->size >= SAID_LARGE);
}

/* Has a step taken in another thread that would take long here.  Returns false
 * if it is none.  It reads texts of the request, which are its connection's: a
 * client that goes meanwhile is noticed after it. */
static bool step_elsewhere(struct request *request)
{
    request->step =
        request_is_large(request)
            ? step_thread_start(request->context->searcher.base, request->call,
                                &request->reply, on_stepped, request)
            : NULL;
    if (request->step == NULL) {
        return false;
    }
    request_stop_waiting(request); /* it ends, whatever the time is */
    if (request->http != NULL) {
        http_request_watch(request->http, NULL, NULL);
    }
    LIST_INSERT_HEAD(&request->context->stepping, request, entry);
    return true;
}

void request_go_on(struct request *request)
{
    do {
        request->record.searched = clock_usec();
        reset_reply(request);
    } while (!step_elsewhere(request) &&
             take_step(request, step_here(request->call, &request->reply)));
}

/* The process stops: this answer is the last one. */
static void stop_request(struct request *request)
{
    request->tries = BROKEN_TRIES;
    request->call->is_stopped = true;
    request_on_late(-1, 0, request);
}

void request_context_stop(struct request_context *context)
{
    struct request *request;
    size_t n = 0;

    context->is_stopping = true;
    while ((request = LIST_FIRST(&context->waiting)) != NULL) {
        n += request->http == NULL;
        stop_request(request);
    }
    while ((request = LIST_FIRST(&context->stepping)) != NULL) {
        n += request->http == NULL;
        step_thread_wait(request->step);
    }
    if (n > 0) {
        log_warn(0, "calls that were pending are gone: %zu", n);
    }
}

/* the request ------------------------------------------------------------- */

/* Without its body: protocols refuse one that is too long in their words. */
static bool request_is_refused(struct request *request)
{
    request->reply.body->has_failed =
        request->http->state == HTTP_BODY_NO_ROOM;
    return request->reply.body->has_failed;
}

void request_start(struct request_context *context, struct http_request *http)
{
    static const struct http_reply no_memory = {.status = 503};
    struct request *request = zeroed_alloc(1, sizeof(*request));

    if (request == NULL) {
        http_reply(http, &no_memory);
        return;
    }
    request->context = context;
    stats_add(&context->stats.running, 1);
    request->http = http;
    request->settings = settings_ref(context->settings);
    request->record.started = request->begun = clock_usec();
    module_cache_trim(context->searcher.cache);
    api_request_fill(request);
    reset_reply(request);
    if (!request_is_refused(request)) {
        request->call = api_begin(&request->api, &request->reply);
    }
    request->record.parsed = clock_usec();
    if (request->call == NULL) {
        request_send_reply(request);
    } else if (request->call->round->nmodules == 0) {
        request_go_on(request);
    } else if (add_round(request) != 0) {
        request_fail(request);
    } else if (search_modules(request)) {
        request_go_on(request);
    }
}

int request_context_init(struct request_context *context,
                         struct event_base *base,
                         struct mapped_modules *mapped, int spawner,
                         struct settings *settings)
{
    memset(context, 0, sizeof(*context));
    context->searcher.base = base;
    context->searcher.mapped = mapped;
    context->searcher.cache = module_cache_new(mapped);
    context->searcher.uses = usage_report_new(base);
    context->inbox = pending_inbox_new(base);
    context->settings = settings_ref(settings);
    context->flush = evtimer_new(base, request_on_flush, context);
    if (spawner != -1) {
        context->pool = work_pool_new(base, spawner, &context->stats.works);
    }
    return (spawner == -1 || context->pool != NULL) &&
                   context->searcher.cache != NULL &&
                   context->searcher.uses != NULL &&
                   context->inbox != NULL && context->flush != NULL
               ? 0
               : -1;
}

void request_context_clear(struct request_context *context)
{
    struct request *request;

    while ((request = LIST_FIRST(&context->sending)) != NULL) {
        request_free(request);
    }
    request_log_flush(context);
    event_drop(context->flush);
    work_pool_free(context->pool);
    pending_inbox_free(context->inbox);
    usage_report_free(context->searcher.uses);
    module_cache_free(context->searcher.cache);
    settings_unref(context->settings);
    json_free(&context->json);
    free(context->writer.data);
}
