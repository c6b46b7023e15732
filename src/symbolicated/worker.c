/*
 * Copyright (C) the ngx_symcache authors
 */
#include "worker.h"

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "http/http.h"
#include "pages.h"
#include "request.h"

#define HEADERS_MAX 65536

/* nginx closes idle connections after 60 s itself. */
#define IDLE_SECONDS 120

/* How long answers may take to leave when we stop. */
#define DRAIN_SECONDS 3

/* No descriptor left: others must close first. */
#define ACCEPT_PAUSE_MS 100

#define TRIM_SECONDS 1

/*
 * evhttp answers a body that is too long by a page of its own, so it takes
 * longer ones, and protocols refuse them in their own words.  What is longer
 * by far is not worth reading.
 */
#define BODY_FACTOR 2

struct worker {
    struct workers *workers;
    struct request_context context;
    pthread_t thread;
    bool started;
    struct event_base *base;
    struct evhttp *http;
    struct evhttp_bound_socket *bound;
    struct event *resume; /* accepting */
    struct event *trim;
    struct event *drain;
    struct event *woken;
    int wakeup; /* an eventfd: there is news */
    _Atomic(uint64_t) turned; /* clock_ms() when the loop was last seen */
    _Atomic(struct settings *) news;
    atomic_bool stopping;
    unsigned open; /* requests that are not answered yet */
};

/* The argument of a listener's callbacks is evhttp's, so it is kept here. */
static _Thread_local struct worker *self;

static void drained(struct worker *w)
{
    if (atomic_load(&w->stopping) && w->open == 0) {
        event_base_loopbreak(w->base);
    }
}

/* The answer is in the kernel's hands. */
static void on_sent(struct evhttp_request *req, void *arg)
{
    struct worker *w = arg;

    evhttp_connection_set_closecb(evhttp_request_get_connection(req), NULL,
                                  NULL);
    w->open--;
    drained(w);
}

static void on_freed(struct evhttp_connection *connection, void *arg)
{
    struct worker *w = arg;

    w->open--;
    drained(w);
}

static void on_request(struct evhttp_request *req, void *arg)
{
    struct worker *w = arg;

    w->open++;
    evhttp_request_set_on_complete_cb(req, on_sent, w);
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), on_freed,
                                  w);
    if (atomic_load(&w->stopping)) {
        reply_header(req, "Connection", "close");
    }
    if (!page_reply(w->workers, req)) {
        request_start(&w->context, req);
    }
}

/* accepting -----------------------------------------------------------------
 */

static void pause_accepting(struct worker *w, unsigned ms)
{
    struct timeval pause = {.tv_usec = ms * 1000};

    evconnlistener_disable(evhttp_bound_socket_get_listener(w->bound));
    event_add(w->resume, &pause);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct worker *w = arg;

    if (w->bound != NULL) {
        evconnlistener_enable(evhttp_bound_socket_get_listener(w->bound));
    }
}

static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    log_crit(EVUTIL_SOCKET_ERROR(), "accept() failed");
    pause_accepting(self, ACCEPT_PAUSE_MS);
}

/*
 * One connection in each turn of the loop, or the worker that is first would
 * take all that come together.
 */
static struct bufferevent *on_accept(struct event_base *base, void *arg)
{
    struct worker *w = arg;

    if (w->workers->n > 1) {
        pause_accepting(w, 0);
    }
    return bufferevent_socket_new(base, -1, 0);
}

/* life ----------------------------------------------------------------------
 */

static void on_trim(evutil_socket_t fd, short what, void *arg)
{
    struct worker *w = arg;

    atomic_store(&w->turned, clock_ms());
    mapped_evict_stale(w->workers->mapped);
    module_cache_trim(w->context.searcher.cache);
}

static void on_drain_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct worker *w = arg;

    event_base_loopbreak(w->base);
}

static void limit_body(struct worker *w, const struct settings *settings)
{
    evhttp_set_max_body_size(
        w->http,
        (ev_ssize_t)(BODY_FACTOR * settings->symbolication->limits.body_size));
}

static void on_woken(evutil_socket_t fd, short what, void *arg)
{
    struct timeval limit = {.tv_sec = DRAIN_SECONDS};
    struct worker *w = arg;
    struct settings *news = atomic_exchange(&w->news, NULL);
    eventfd_t n;

    eventfd_read(fd, &n);
    if (news != NULL) {
        settings_unref(w->context.settings);
        w->context.settings = news;
        limit_body(w, news);
    }
    if (atomic_load(&w->stopping) && w->bound != NULL) {
        evhttp_del_accept_socket(w->http, w->bound);
        w->bound = NULL;
        request_context_stop(&w->context);
        event_add(w->drain, &limit);
        drained(w);
    }
}

static void *run(void *arg)
{
    struct worker *w = arg;

    self = w;
    event_base_dispatch(w->base);
    task_cancel_all();
    return NULL;
}

void worker_free(struct worker *w)
{
    if (w == NULL) {
        return;
    }
    if (w->started) {
        pthread_join(w->thread, NULL);
    }
    if (w->http != NULL) {
        evhttp_free(w->http);
    }
    request_context_clear(&w->context);
    settings_unref(atomic_load(&w->news));
    if (w->resume != NULL) {
        event_free(w->resume);
    }
    if (w->trim != NULL) {
        event_free(w->trim);
    }
    if (w->drain != NULL) {
        event_free(w->drain);
    }
    if (w->woken != NULL) {
        event_free(w->woken);
    }
    if (w->base != NULL) {
        event_base_free(w->base);
    }
    if (w->wakeup != -1) {
        close(w->wakeup);
    }
    free(w);
}

/* Returns 0, or -1: out of memory or descriptors. */
static int make_events(struct worker *w)
{
    static const struct timeval often = {.tv_sec = TRIM_SECONDS};

    w->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->resume = evtimer_new(w->base, on_resume, w);
    w->trim = event_new(w->base, -1, EV_PERSIST, on_trim, w);
    w->drain = evtimer_new(w->base, on_drain_timeout, w);
    w->woken =
        event_new(w->base, w->wakeup, EV_READ | EV_PERSIST, on_woken, w);
    return w->wakeup != -1 && w->resume != NULL && w->trim != NULL &&
                   w->drain != NULL && w->woken != NULL &&
                   event_add(w->woken, NULL) == 0 &&
                   event_add(w->trim, &often) == 0
               ? 0
               : -1;
}

/* evhttp closes the descriptor that it accepts on. */
static int make_http(struct worker *w)
{
    int fd;

    w->http = evhttp_new(w->base);
    fd = dup(w->workers->listener);
    if (w->http == NULL || fd == -1) {
        return -1;
    }
    evhttp_set_allowed_methods(w->http, 0xffff); /* protocols refuse by 405 */
    evhttp_set_max_headers_size(w->http, HEADERS_MAX);
    limit_body(w, w->context.settings);
    evhttp_set_timeout(w->http, IDLE_SECONDS);
    evhttp_set_gencb(w->http, on_request, w);
    evhttp_set_bevcb(w->http, on_accept, w);
    w->bound = evhttp_accept_socket_with_handle(w->http, fd);
    if (w->bound == NULL) {
        close(fd);
        return -1;
    }
    evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(w->bound),
                                on_accept_error);
    return 0;
}

struct worker *worker_new(struct workers *workers, struct settings *settings)
{
    struct worker *w = calloc(1, sizeof(*w));

    if (w == NULL) {
        return NULL;
    }
    w->workers = workers;
    w->wakeup = -1;
    w->base = event_base_new();
    if (w->base == NULL ||
        request_context_init(&w->context, w->base, workers->mapped, settings) !=
            0 ||
        make_events(w) != 0 || make_http(w) != 0) {
        worker_free(w);
        return NULL;
    }
    return w;
}

int worker_start(struct worker *worker)
{
    int rc;

    atomic_store(&worker->turned, clock_ms());
    rc = pthread_create(&worker->thread, NULL, run, worker);
    worker->started = rc == 0;
    return rc;
}

static void wake(struct worker *worker)
{
    eventfd_write(worker->wakeup, 1);
}

void worker_configure(struct worker *worker, struct settings *settings)
{
    settings_unref(atomic_exchange(&worker->news, settings_ref(settings)));
    wake(worker);
}

void worker_stop(struct worker *worker)
{
    atomic_store(&worker->stopping, true);
    wake(worker);
}

bool worker_is_alive(const struct worker *worker, unsigned ms)
{
    return clock_since(atomic_load(&worker->turned)) < ms;
}

const struct stats *worker_stats(const struct worker *worker)
{
    return &worker->context.stats;
}
