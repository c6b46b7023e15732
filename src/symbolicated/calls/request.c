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
#include "symbolicated/search/reachability.h"
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

static void on_flush(evutil_socket_t fd, short what, void *arg)
{
    request_log_flush(arg);
}

/* the answer -------------------------------------------------------------- */

void request_stop_waiting(struct request *r)
{
    if (r->timer != NULL) {
        LIST_REMOVE(r, entry);
        event_free(r->timer);
        r->timer = NULL;
    }
}

/* Lets the files of all rounds go. */
static void free_searches(struct request *r)
{
    struct search *before;

    for (; r->search != NULL; r->search = before) {
        before = search_before(r->search);
        search_free(r->search);
    }
}

void request_free(struct request *r)
{
    stats_add(&r->context->stats.running, (uint64_t)-1);
    body_work_free(r->body);
    request_stop_waiting(r);
    if (r->is_sending) {
        LIST_REMOVE(r, entry);
    }
    packer_free(r->packer);
    free_searches(r);
    if (r->call != NULL && r->call->poll != NULL) {
        pending_poll_end(&r->poll);
    }
    if (r->call != NULL) {
        free(r->call->failure);
        r->call->free(r->call);
    }
    settings_unref(r->settings);
    free(r->texts);
    free(r);
}

static void reset_reply(struct request *r)
{
    enum api_protocol protocol = r->reply.protocol;
    struct json_writer *writer = &r->context->writer;

    memset(&r->reply, 0, sizeof(r->reply));
    r->reply.protocol = protocol;
    r->reply.body = writer;
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
static void keep_answer(struct request *r)
{
    struct request_context *context = r->context;
    char id[PENDING_CALL_ID_SIZE];

    memcpy(id, pending_call_id(r->pending), sizeof(id));
    request_log_end(context, &r->record, r->call, &r->reply, id);
    if (!pending_call_end(
            r->pending, &r->reply,
            r->settings->symbolication->symbolicator.kept_size)) {
        stats_add(&context->stats.lost, 1);
        log_warn(0,
                 "the answer of call %s has %zu bytes, for which "
                 "\"symbolication.symbolicator.kept_size\" has no room",
                 id, r->reply.body->size);
    }
    stats_add(&context->stats.pending, (uint64_t)-1);
}

/* The reply is whole, or there was no memory for it. */
static void send_reply(struct request *r)
{
    struct request_context *context = r->context;
    struct json_writer *writer = r->reply.body;
    struct http_field fields[API_HEADERS_MAX];
    struct http_request *http = r->http;
    struct http_reply reply;

    if (r->call != NULL && r->call->parts > 0) {
        streamed_answer_end(r);
        return;
    }
    if (writer->has_failed) {
        api_reply_set_failed(&r->reply);
    }
    if (http == NULL) {
        keep_answer(r);
        request_free(r);
        trim_memory(context);
        return;
    }
    reply = api_reply_http(&r->reply, fields);
    if (writer->size > WRITER_KEPT &&
        !api_reply_send_large(&r->reply,
                              r->settings->symbolication->limits.answer_size,
                              &reply)) {
        api_reply_set_failed(&r->reply);
        reply = api_reply_http(&r->reply, fields);
    }
    request_log_answer(context, &r->record, r->call, &r->reply);
    /* first: a client that has the answer can ask again at once, and running
     * requests can be limited */
    request_free(r);
    http_reply(http, &reply);
    trim_memory(context);
}

/* There is no memory. */
void request_fail(struct request *r)
{
    reset_reply(r);
    r->reply.body->has_failed = true;
    send_reply(r);
}

/* A round is known now, perhaps while another one is searched again. */
static void on_searched(void *arg)
{
    struct request *r = arg;
    const struct search *s;

    for (s = r->search; s != NULL; s = search_before(s)) {
        if (!search_has_ended(s)) {
            return;
        }
    }
    request_go_on(r);
}

static void stop_searches(struct request *r)
{
    struct search *s;

    for (s = r->search; s != NULL; s = search_before(s)) {
        search_stop(s);
    }
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
    struct request *r = arg;

    stop_searches(r);
    if (r->call->work != NULL && r->call->work->news == API_WORK_NONE) {
        r->call->work->news = API_WORK_LATE;
    }
    request_go_on(r);
}

/* One that was closed would keep its place among those that run until its
 * modules are there. */
void request_gone(void *arg)
{
    struct request *r = arg;

    r->reply.status = CLIENT_GONE;
    r->record.searched = clock_usec();
    request_log_answer(r->context, &r->record, r->call, &r->reply);
    request_free(r);
}

static bool may_go_on(const struct request *r)
{
    return r->http != NULL && r->call->answer_pending != NULL;
}

/* Milliseconds from the begin of the request, to on_limit(). */
static uint64_t limit_of(const struct request *r)
{
    if (r->call->poll != NULL) {
        return r->call->wait;
    }
    return may_go_on(r) ? r->call->patience + MOMENT_MS
                        : r->call->wait + GRACE_MS;
}

static void on_limit(evutil_socket_t fd, short what, void *arg);

/* Returns 0, or -1 without memory. */
static int wait_until(struct request *r, uint64_t ms)
{
    uint64_t spent = (clock_usec() - r->begun) / 1000;
    struct timeval limit;

    ms = spent < ms ? ms - spent : 0;
    limit.tv_sec = (time_t)(ms / 1000);
    limit.tv_usec = (suseconds_t)(ms % 1000 * 1000);
    if (r->timer == NULL) {
        r->timer = evtimer_new(r->context->searcher.base, on_limit, r);
        if (r->timer == NULL) {
            return -1;
        }
        LIST_INSERT_HEAD(&r->context->waiting, r, entry);
        if (r->http != NULL) {
            http_request_watch(r->http, request_gone, r);
        }
    }
    return event_add(r->timer, &limit);
}

static int wait_on(struct request *r)
{
    return wait_until(r, limit_of(r));
}

/* The connection is told that the call goes on without it; or it ends, as there
 * is no room. */
static void leave_connection(struct request *r)
{
    const struct symbolicator_config *config =
        &r->settings->symbolication->symbolicator;
    struct http_request *http = r->http;
    struct http_field fields[API_HEADERS_MAX];
    struct http_reply reply;

    r->texts = http_request_take(http);
    if (r->texts != NULL) {
        r->pending = pending_call_new(config->node, config->kept_size);
    }
    reset_reply(r);
    r->call->answer_pending(
        &r->reply, r->pending != NULL ? pending_call_id(r->pending) : NULL);
    if (r->pending != NULL && r->reply.body->has_failed) {
        pending_call_end(r->pending, &r->reply, 0); /* its id is not known */
        r->pending = NULL;
    }
    if (r->pending == NULL) {
        send_reply(r);
        return;
    }
    stats_add(&r->context->stats.pending, 1);
    request_log_pending(r->context, &r->record, r->call, &r->reply,
                        pending_call_id(r->pending));
    reply = api_reply_http(&r->reply, fields);
    r->http = NULL;
    wait_on(r);
    http_reply(http, &reply);
}

static bool is_looking(const struct request *r)
{
    const struct search *s;

    for (s = r->search; s != NULL && !search_is_looking(s);
         s = search_before(s)) {
    }
    return s != NULL;
}

/* The time is over, that of the connection or that of the call. */
static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct request *r = arg;
    uint64_t spent = (clock_usec() - r->record.started) / 1000;

    if (!may_go_on(r)) {
        on_late(fd, what, arg);
    } else if (is_looking(r) && spent < r->call->patience + GRACE_MS) {
        wait_until(r, spent + LOOK_MS); /* what lies here needs no poll */
    } else {
        leave_connection(r);
    }
}

/* Makes modules unknown whose file was cut short.  Are there some? */
static bool is_broken(struct request *r)
{
    struct search *s;
    bool broken = false;

    for (s = r->search; s != NULL; s = search_before(s)) {
        broken = search_is_broken(s) || broken;
    }
    return broken;
}

/* A search for the newest round of the call.  Returns 0, or -1 without
 * memory. */
static int add_round(struct request *r)
{
    struct search *search = search_new(&r->context->searcher, r->settings,
                                       r->call, r->begun, r->search,
                                       on_searched, r);

    if (search == NULL) {
        return -1;
    }
    r->search = search;
    return 0;
}

/* Does the call want more than it may?  That is a fault of ours, as protocols
 * count what a request names. */
static bool wants_too_much(const struct request *r)
{
    const struct api_round *round;
    size_t rounds = 0, modules = 0;

    for (round = r->call->round; round != NULL; round = round->before) {
        rounds++;
        modules += round->nmodules;
    }
    return rounds > API_ROUNDS_MAX ||
           modules > 8 * (size_t)r->settings->symbolication->limits.modules;
}

/*
 * Searches for what is unknown.  Returns true if all of it is known now; or
 * false: it will be, or the request has been answered.
 */
static bool search_modules(struct request *r)
{
    bool is_known = true;
    struct search *s;

    for (s = r->search; s != NULL; s = search_before(s)) {
        is_known = search_run(s) && is_known;
    }
    if (is_known) {
        return true;
    }
    if (r->context->is_stopping) {
        stop_searches(r);
        r->tries = BROKEN_TRIES;
        r->call->is_stopped = true;
        return true;
    }
    if (wait_on(r) != 0) {
        request_fail(r);
    }
    return false;
}

/* The call's work has news: a worker that has died needs no more files. */
static void on_work(void *arg)
{
    struct request *r = arg;

    stop_searches(r);
    stats_add(&r->context->stats.walk_usec, clock_usec() - r->worked);
    request_go_on(r);
}

/* Begins the work of the call, or gives it files; then it is waited for. */
static void run_work(struct request *r)
{
    if (r->context->is_stopping) {
        r->call->work->news = API_WORK_LATE;
        r->call->is_stopped = true;
        request_go_on(r);
        return;
    }
    r->worked = clock_usec();
    if (r->body == NULL) {
        r->body = body_work_start(
            r->context->searcher.base, r->context->pool, &r->settings->helper,
            r->call, api_protocol_name(r->reply.protocol),
            r->settings->symbolication->limits.body_size, on_work, r);
    } else {
        body_work_give(r->body, r->search);
    }
    if (r->body == NULL || wait_on(r) != 0) {
        request_fail(r);
    }
}

static void on_polled(void *arg)
{
    struct request *r = arg;

    r->call->poll->answer = pending_poll_answer(&r->poll);
    r->call->poll->news = API_POLL_ENDED;
    request_go_on(r);
}

/* Looks for the call that this one polls, and waits for its end. */
static void poll_call(struct request *r)
{
    struct api_poll *poll = r->call->poll;

    poll->news =
        pending_poll_start(&r->poll, r->context->inbox, poll->id, on_polled, r);
    poll->answer = pending_poll_answer(&r->poll);
    if (poll->news != API_POLL_RUNS || r->context->is_stopping) {
        r->call->is_stopped = r->context->is_stopping;
        request_go_on(r);
    } else if (wait_on(r) != 0) {
        request_fail(r);
    }
}

/* The rounds that follow have a time of their own. */
static void let_go(struct request *r)
{
    request_log_let_go(&r->record, r->call);
    free_searches(r);
    r->begun = clock_usec();
}

/*
 * A step was taken.  A file that is cut short while it is read gives nonsense;
 * then the step is taken again, without it; one that lets all go has read none.
 * At the last try such files stay, as the step may have named them to a worker.
 * Returns whether there is a step to take now; if not, the request waits or has
 * been answered.
 */
static bool take_step(struct request *r, enum api_next next)
{
    if (next != API_LETS_GO && r->tries + 1 < BROKEN_TRIES && is_broken(r)) {
        r->tries++;
        stats_add(&r->context->stats.cut, 1);
    } else if (next == API_FINISHED) {
        send_reply(r);
        return false;
    } else if (next == API_WORKS) {
        run_work(r);
        return false;
    } else if (next == API_POLLS) {
        poll_call(r);
        return false;
    } else if (next == API_PART) {
        streamed_answer_part(r);
        return false;
    } else if (next == API_LETS_GO) {
        let_go(r);
        return true;
    }
    if (next == API_WANTS && (wants_too_much(r) || add_round(r) != 0)) {
        request_fail(r);
        return false;
    }
    return search_modules(r);
}

/* A step has ended that was taken in another thread. */
static void on_stepped(void *arg, enum api_next next,
                       struct json_writer *written)
{
    struct request *r = arg;
    struct json_writer *writer = &r->context->writer;

    free(writer->data);
    *writer = *written;
    memset(written, 0, sizeof(*written));
    r->reply.body = writer;
    r->step = NULL;
    LIST_REMOVE(r, entry);
    if (take_step(r, next)) {
        request_go_on(r);
    }
}

static bool is_large(const struct request *r)
{
    const struct api_work *work = r->call->work;

    return (r->call->is_large != NULL && r->call->is_large(r->call)) ||
           (work != NULL && work->news == API_WORK_ENDED &&
            work->size >= SAID_LARGE);
}

/* Has a step taken in another thread that would take long here.  Returns false
 * if it is none.  It reads texts of the request, which are its connection's: a
 * client that goes meanwhile is noticed after it. */
static bool step_elsewhere(struct request *r)
{
    r->step = is_large(r)
                  ? step_thread_start(r->context->searcher.base, r->call,
                                      &r->reply, on_stepped, r)
                  : NULL;
    if (r->step == NULL) {
        return false;
    }
    request_stop_waiting(r); /* it ends, whatever the time is */
    if (r->http != NULL) {
        http_request_watch(r->http, NULL, NULL);
    }
    LIST_INSERT_HEAD(&r->context->stepping, r, entry);
    return true;
}

void request_go_on(struct request *r)
{
    do {
        r->record.searched = clock_usec();
        reset_reply(r);
    } while (!step_elsewhere(r) &&
             take_step(r, step_here(r->call, &r->reply)));
}

/* The process stops: this answer is the last one. */
static void stop_request(struct request *r)
{
    r->tries = BROKEN_TRIES;
    r->call->is_stopped = true;
    on_late(-1, 0, r);
}

void request_context_stop(struct request_context *context)
{
    struct request *r;
    size_t n = 0;

    context->is_stopping = true;
    while ((r = LIST_FIRST(&context->waiting)) != NULL) {
        n += r->http == NULL;
        stop_request(r);
    }
    while ((r = LIST_FIRST(&context->stepping)) != NULL) {
        n += r->http == NULL;
        step_thread_wait(r->step);
    }
    if (n > 0) {
        log_warn(0, "calls that were pending are gone: %zu", n);
    }
}

/* the request ------------------------------------------------------------- */

static const char *find_header(const struct api_request *api, const char *name)
{
    const struct request *r =
        (const struct request *)((const char *)api -
                                 offsetof(struct request, api));

    return http_request_field(r->http, name);
}

static enum api_method method_of(enum http_method method)
{
    static const enum api_method methods[] = {
        [HTTP_GET] = API_GET,         [HTTP_HEAD] = API_HEAD,
        [HTTP_POST] = API_POST,       [HTTP_OPTIONS] = API_OPTIONS,
        [HTTP_OTHER] = API_OTHER,
    };

    return methods[method];
}

static void fill_api_request(struct request *r)
{
    r->api.method = method_of(r->http->method);
    r->api.path = r->http->path;
    r->api.query = r->http->query;
    r->api.size = (size_t)r->http->size;
    r->api.body = r->api.size > 0 ? r->http->body : NULL;
    r->api.spool = r->http->spool;
    r->api.header = find_header;
    r->api.config = r->settings->symbolication;
    r->api.json = &r->context->json;
    r->api.is_cut_off = reachability_is_lost();
    r->api.json->takes_nan = false;
}

/* Without its body: protocols refuse one that is too long in their words. */
static bool is_refused(struct request *r)
{
    r->reply.body->has_failed = r->http->state == HTTP_BODY_NO_ROOM;
    return r->reply.body->has_failed;
}

void request_start(struct request_context *context, struct http_request *http)
{
    static const struct http_reply no_memory = {.status = 503};
    struct request *r = zeroed_alloc(1, sizeof(*r));

    if (r == NULL) {
        http_reply(http, &no_memory);
        return;
    }
    r->context = context;
    stats_add(&context->stats.running, 1);
    r->http = http;
    r->settings = settings_ref(context->settings);
    r->record.started = r->begun = clock_usec();
    module_cache_trim(context->searcher.cache);
    fill_api_request(r);
    reset_reply(r);
    if (!is_refused(r)) {
        r->call = api_begin(&r->api, &r->reply);
    }
    r->record.parsed = clock_usec();
    if (r->call == NULL) {
        send_reply(r);
    } else if (r->call->round->nmodules == 0) {
        request_go_on(r);
    } else if (add_round(r) != 0) {
        request_fail(r);
    } else if (search_modules(r)) {
        request_go_on(r);
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
    context->flush = evtimer_new(base, on_flush, context);
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
    struct request *r;

    while ((r = LIST_FIRST(&context->sending)) != NULL) {
        request_free(r);
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
