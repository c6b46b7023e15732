/*
 * Copyright (C) the ngx_symcache authors
 */
#include "request.h"

#include <event2/event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/log.h"
#include "body.h"

/* A larger answer is sent without a copy, and its buffer is not kept for the
 * next one. */
#define WRITER_KEPT (1024 * 1024)

/* A search has this long beyond the call's own time: for slow disks. */
#define GRACE_MS 5000

/* The same of the values of a request. */
#define VALUES_KEPT 65536

#define BROKEN_TRIES 3

/* In the log and the metrics, as nginx has it: the client did not wait. */
#define CLIENT_GONE 499

#define LINE_MAX_BYTES 256
#define FLUSH_MS 100

struct request {
    LIST_ENTRY(request) entry; /* of those that wait */
    struct request_context *context;
    struct http_request *http;
    struct settings *settings;
    struct api_request api;
    struct api_reply reply;
    struct api_call *call;
    struct search *search; /* for the newest round; search_before() */
    struct body *body;   /* its work, if a worker does it; or NULL */
    struct event *timer; /* NULL: it does not wait */
    unsigned tries;
    uint64_t started; /* microseconds */
    uint64_t parsed;
    uint64_t searched;
};

/* the log -------------------------------------------------------------------
 */

static void flush(struct request_context *context)
{
    if (context->lines_size > 0) {
        log_lines(context->lines, context->lines_size);
        context->lines_size = 0;
    }
}

static void on_flush(evutil_socket_t fd, short what, void *arg)
{
    flush(arg);
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

/* The modules of all rounds, by state; *n is how many they are. */
static void count_modules(struct request *r, size_t *n,
                          size_t counts[API_MODULE_LATE + 1])
{
    struct stats *stats = &r->context->stats;
    const struct api_round *round = r->call != NULL ? r->call->round : NULL;
    size_t i;

    for (*n = 0; round != NULL; round = round->before) {
        for (i = 0; i < round->nmodules; i++) {
            counts[round->modules[i].state]++;
            log_module(&round->modules[i]);
            stats_add(&stats->asked, round->modules[i].asked);
        }
        *n += round->nmodules;
    }
}

static void add_line(struct request *r, size_t nmodules, const size_t counts[],
                     uint64_t usec)
{
    static const struct timeval soon = {.tv_usec = FLUSH_MS * 1000};
    struct request_context *context = r->context;

    if (sizeof(context->lines) - context->lines_size < LINE_MAX_BYTES) {
        flush(context);
    }
    if (context->lines_size == 0) {
        event_add(context->flush, &soon);
    }
    context->lines_size += log_print(
        context->lines + context->lines_size, LINE_MAX_BYTES, LOG_LEVEL_INFO,
        "request protocol=%s status=%d frames=%zu modules=%zu missing=%zu "
        "failed=%zu us=%llu",
        api_protocol_name(r->reply.protocol), r->reply.status,
        r->call != NULL ? r->call->nframes : 0,
        nmodules,
        counts[API_MODULE_MISSING] + counts[API_MODULE_UNSUPPORTED] +
            counts[API_MODULE_MALFORMED],
        counts[API_MODULE_FAILED] + counts[API_MODULE_LATE],
        (unsigned long long)usec);
}

static void count(struct request *r)
{
    struct stats *stats = &r->context->stats;
    size_t counts[API_MODULE_LATE + 1] = {0}, nmodules, i;
    uint64_t now = clock_usec();

    count_modules(r, &nmodules, counts);
    for (i = 0; r->call != NULL && i <= API_MODULE_LATE; i++) {
        stats_add(&stats->modules[i], counts[i]);
    }
    if (r->call != NULL) {
        stats_add(&stats->frames, r->call->nframes);
        stats_add(&stats->search_usec, r->searched - r->parsed);
        stats_add(&stats->answer_usec, now - r->searched);
    }
    stats_add(&stats->parse_usec, r->parsed - r->started);
    stats_request(stats, r->reply.protocol, r->reply.status, now - r->started);
    add_line(r, nmodules, counts, now - r->started);
}

/* the answer ----------------------------------------------------------------
 */

static void free_request(struct request *r)
{
    struct search *before;


    stats_add(&r->context->stats.running, (uint64_t)-1);
    body_free(r->body);
    if (r->timer != NULL) {
        LIST_REMOVE(r, entry);
        event_free(r->timer);
    }
    for (; r->search != NULL; r->search = before) {
        before = search_before(r->search);
        search_free(r->search);
    }
    if (r->call != NULL) {
        r->call->free(r->call);
    }
    settings_unref(r->settings);
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

/* Bytes of large answers that clients have not taken yet, of all threads. */
static atomic_uint_least64_t unsent;

static void on_taken(char *data, size_t size)
{
    atomic_fetch_sub(&unsent, size);
    free(data);
}

/*
 * Gives away a large answer.  Clients that do not read may keep no more of
 * them than one answer can have.  Returns false if there is no room for it.
 */
static bool give_large(const struct request *r, struct http_reply *reply)
{
    struct json_writer *writer = r->reply.body;
    uint64_t most = r->settings->symbolication->limits.answer_size;
    uint64_t others = atomic_fetch_add(&unsent, writer->size);

    if (others > 0 && others + writer->size > most) {
        atomic_fetch_sub(&unsent, writer->size);
        return false;
    }
    reply->release = on_taken;
    memset(writer, 0, sizeof(*writer));
    return true;
}

/* What a large request has left behind. */
static void trim(struct request_context *context)
{
    if (context->writer.room > WRITER_KEPT) {
        free(context->writer.data);
        memset(&context->writer, 0, sizeof(context->writer));
    }
    if (context->json.room > VALUES_KEPT) {
        json_free(&context->json);
    }
}

static void send_reply(struct request *r)
{
    struct request_context *context = r->context;
    struct json_writer *writer = r->reply.body;
    struct http_field fields[API_HEADERS_MAX];
    struct http_reply reply = {.body = writer->data, .size = writer->size};
    struct http_request *http = r->http;
    unsigned i;

    if (writer->has_failed ||
        (writer->size > WRITER_KEPT && !give_large(r, &reply))) {
        r->reply.status = 503;
        r->reply.type = NULL;
        r->reply.nheaders = 0;
        api_reply_header(&r->reply, "Retry-After", "1");
        reply.size = 0;
    }
    for (i = 0; i < r->reply.nheaders; i++) {
        fields[i].name = r->reply.headers[i].name;
        fields[i].value = r->reply.headers[i].value;
    }
    reply.status = r->reply.status;
    reply.type = r->reply.type;
    reply.fields = fields;
    reply.nfields = r->reply.nheaders;
    count(r);
    /* first: who has the answer may ask again at once, and there may be a
     * limit of requests that run */
    free_request(r);
    http_reply(http, &reply);
    trim(context);
}

/* There is no memory. */
static void give_up(struct request *r)
{
    reset_reply(r);
    r->reply.body->has_failed = true;
    send_reply(r);
}

static void go_on(struct request *r);

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
    go_on(r);
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
    go_on(r);
}

/* One that was closed would keep its place among those that run until its
 * modules are there. */
static void on_gone(void *arg)
{
    struct request *r = arg;

    r->reply.status = CLIENT_GONE;
    r->searched = clock_usec();
    count(r);
    free_request(r);
}

/* Returns 0, or -1 without memory. */
static int wait_for_modules(struct request *r)
{
    uint64_t ms = r->call->wait + GRACE_MS;
    uint64_t spent = (clock_usec() - r->started) / 1000;
    struct timeval limit;

    ms = spent < ms ? ms - spent : 0;
    limit.tv_sec = (time_t)(ms / 1000);
    limit.tv_usec = (suseconds_t)(ms % 1000 * 1000);
    if (r->timer == NULL) {
        r->timer = evtimer_new(r->context->searcher.base, on_late, r);
        if (r->timer == NULL) {
            return -1;
        }
        LIST_INSERT_HEAD(&r->context->waiting, r, entry);
        http_request_watch(r->http, on_gone, r);
    }
    return event_add(r->timer, &limit);
}

/* Makes modules of any round unknown whose file was cut short.  Returns whether
 * there are some. */
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
                                       r->call, r->started, r->search,
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
static bool search(struct request *r)
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
    if (wait_for_modules(r) != 0) {
        give_up(r);
    }
    return false;
}

/* The call's work has news. */
static void on_work(void *arg)
{
    go_on(arg);
}

/* Begins the work of the call, or gives it files; then it is waited for. */
static void work(struct request *r)
{
    if (r->context->is_stopping) {
        r->call->work->news = API_WORK_LATE;
        r->call->is_stopped = true;
        go_on(r);
        return;
    }
    if (r->body == NULL) {
        r->body = body_start(r->context->pool, r->call,
                             r->settings->symbolication->limits.body_size,
                             on_work, r);
    } else {
        body_give(r->body, r->search);
    }
    if (r->body == NULL || wait_for_modules(r) != 0) {
        give_up(r);
    }
}

/*
 * Takes the call's steps until one has to wait.  A file that is cut short while
 * it is read gives nonsense; then the step is taken again, without it.
 */
static void go_on(struct request *r)
{
    enum api_next next;

    do {
        r->searched = clock_usec();
        reset_reply(r);
        next = r->call->step(r->call, &r->reply);
        if (r->search != NULL && is_broken(r) && ++r->tries < BROKEN_TRIES) {
            stats_add(&r->context->stats.cut, 1);
        } else if (next == API_FINISHED) {
            send_reply(r);
            return;
        } else if (next == API_WORKS) {
            work(r);
            return;
        }
        if (next == API_WANTS && (wants_too_much(r) || add_round(r) != 0)) {
            give_up(r);
            return;
        }
    } while (search(r));
}

/* The process stops: this answer is the last one. */
static void stop(struct request *r)
{
    r->tries = BROKEN_TRIES;
    r->call->is_stopped = true;
    on_late(-1, 0, r);
}

void request_context_stop(struct request_context *context)
{
    struct request *r;

    context->is_stopping = true;
    while ((r = LIST_FIRST(&context->waiting)) != NULL) {
        stop(r);
    }
}

/* the request ---------------------------------------------------------------
 */

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

static void describe(struct request *r)
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
    r->api.json->takes_nan = false;
}

/* Without its body: protocols refuse one that is too long in their words. */
static bool is_refused(struct request *r)
{
    if (r->http->state == HTTP_BODY_NO_ROOM) {
        r->reply.body->has_failed = true;
        return true;
    }
    return false;
}

void request_start(struct request_context *context, struct http_request *http)
{
    static const struct http_reply no_memory = {.status = 503};
    struct request *r = calloc(1, sizeof(*r));

    if (r == NULL) {
        http_reply(http, &no_memory);
        return;
    }
    r->context = context;
    stats_add(&context->stats.running, 1);
    r->http = http;
    r->settings = settings_ref(context->settings);
    r->started = clock_usec();
    module_cache_trim(context->searcher.cache);
    describe(r);
    reset_reply(r);
    if (!is_refused(r)) {
        r->call = api_begin(&r->api, &r->reply);
    }
    r->parsed = clock_usec();
    if (r->call == NULL) {
        send_reply(r);
    } else if (r->call->round->nmodules == 0) {
        go_on(r);
    } else if (add_round(r) != 0) {
        give_up(r);
    } else if (search(r)) {
        go_on(r);
    }
}

int request_context_init(struct request_context *context,
                         struct event_base *base, struct mapped *mapped,
                         int spawner, struct settings *settings)
{
    memset(context, 0, sizeof(*context));
    context->searcher.base = base;
    context->searcher.mapped = mapped;
    context->searcher.cache = module_cache_new(mapped);
    context->searcher.uses = uses_new(base);
    context->settings = settings_ref(settings);
    context->flush = evtimer_new(base, on_flush, context);
    if (spawner != -1) {
        context->pool = work_pool_new(base, spawner, &context->stats.works);
    }
    return (spawner == -1 || context->pool != NULL) &&
                   context->searcher.cache != NULL &&
                   context->searcher.uses != NULL && context->flush != NULL
               ? 0
               : -1;
}

void request_context_clear(struct request_context *context)
{
    flush(context);
    if (context->flush != NULL) {
        event_free(context->flush);
    }
    work_pool_free(context->pool);
    uses_free(context->searcher.uses);
    module_cache_free(context->searcher.cache);
    settings_unref(context->settings);
    json_free(&context->json);
    free(context->writer.data);
}
