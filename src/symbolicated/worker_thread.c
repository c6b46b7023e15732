/*
 * Copyright (C) the ngx_symcache authors
 */
#include "worker_thread.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/event.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/task.h"
#include "http/http.h"
#include "symbolicated/search/symcached_client.h"
#include "daemon_pages.h"
#include "symbolicated/api/protocols.h"
#include "symbolicated/calls/pending_calls.h"
#include "symbolicated/calls/request.h"

/* How long answers may take to leave when we stop. */
#define DRAIN_SECONDS 3

#define TRIM_SECONDS 5

struct worker {
    struct workers *workers;
    struct request_context context;
    pthread_t thread;
    bool started;
    struct event_base *base;
    struct http_server *http;
    struct event *trim;
    struct event *drain;
    struct event *woken;
    int wakeup; /* an eventfd: there is news */
    _Atomic(uint64_t) turned; /* clock_ms() when the loop was last seen */
    _Atomic(struct settings *) news;
    atomic_bool stopping;
    bool is_draining;
};

static void on_refused(int status, void *arg)
{
    struct worker *w = arg;

    stats_add(&w->context.stats.refused, 1);
    log_info(0, "request refused: status=%d, it %s", status,
             status == 408 ? "was not whole in time" : "cannot be read");
}

static void on_request(struct http_request *request, void *arg)
{
    struct worker *w = arg;

    if (!daemon_page_reply(w->workers, request)) {
        request_start(&w->context, request);
    }
}

/* life -------------------------------------------------------------------- */

static void on_trim(evutil_socket_t fd, short what, void *arg)
{
    struct worker *w = arg;

    atomic_store(&w->turned, clock_ms());
    mapped_modules_evict_stale(w->workers->mapped);
    module_cache_trim(w->context.searcher.cache);
    pending_calls_evict();
}

static void on_drained(void *arg)
{
    struct worker *w = arg;

    event_base_loopbreak(w->base);
}

static void on_drain_timeout(evutil_socket_t fd, short what, void *arg)
{
    on_drained(arg);
}

/* Bodies that workers read. */
static bool needs_spool(const char *path, void *arg)
{
    const struct worker *w = arg;
    const struct symbolication_config *config =
        w->context.settings->symbolication;

    return w->context.pool != NULL &&
           ((config->symbolicator.enabled &&
             symbolicator_takes_form(config, path)) ||
            profile_owns(config, path));
}

static void limit_of_thread(struct worker *w, const struct settings *settings)
{
    const struct symbolication_limits_config *limits =
        &settings->symbolication->limits;

    http_server_limit(w->http, limits->body_size, limits->receiving_size,
                      limits->answer_size);
    http_server_spool(w->http, needs_spool, limits->crash_size);
    spool_limit(limits->spool_size);
}

static void on_woken(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval patience = {.tv_sec = DRAIN_SECONDS};
    struct worker *w = arg;
    struct settings *news = atomic_exchange(&w->news, NULL);
    eventfd_t n;

    eventfd_read(fd, &n);
    atomic_store(&w->turned, clock_ms());
    if (news != NULL) {
        settings_unref(w->context.settings);
        w->context.settings = news;
        limit_of_thread(w, news);
    }
    if (atomic_load(&w->stopping) && !w->is_draining) {
        w->is_draining = true;
        event_add(w->drain, &patience);
        http_server_stop(w->http, on_drained, w);
        request_context_stop(&w->context);
    }
}

static void *run_thread(void *arg)
{
    struct worker *w = arg;

    event_base_dispatch(w->base);
    task_cancel_all();
    return NULL;
}

void worker_join(struct worker *w)
{
    if (w != NULL && w->started) {
        pthread_join(w->thread, NULL);
    }
}

void worker_free(struct worker *w)
{
    if (w == NULL) {
        return;
    }
    http_server_free(w->http);
    request_context_clear(&w->context);
    settings_unref(atomic_load(&w->news));
    event_drop(w->trim);
    event_drop(w->drain);
    event_drop(w->woken);
    if (w->base != NULL) {
        symcached_client_end(w->base);
        event_base_free(w->base);
    }
    fd_close(w->wakeup);
    free(w);
}

/* Returns 0, or -1: out of memory or descriptors. */
static int make_events(struct worker *w)
{
    static const struct timeval often = {.tv_sec = TRIM_SECONDS};

    w->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->trim = event_new(w->base, -1, EV_PERSIST, on_trim, w);
    w->drain = evtimer_new(w->base, on_drain_timeout, w);
    w->woken =
        event_new(w->base, w->wakeup, EV_READ | EV_PERSIST, on_woken, w);
    return w->wakeup != -1 && w->trim != NULL && w->drain != NULL &&
                   w->woken != NULL &&
                   event_add(w->woken, NULL) == 0 &&
                   event_add(w->trim, &often) == 0
               ? 0
               : -1;
}

struct worker *worker_new(struct workers *workers, int spawner,
                          struct settings *settings)
{
    struct worker *w = calloc(1, sizeof(*w));

    if (w == NULL) {
        return NULL;
    }
    w->workers = workers;
    w->wakeup = -1;
    w->base = event_base_new();
    if (w->base == NULL ||
        request_context_init(&w->context, w->base, workers->mapped, spawner,
                             settings) != 0 ||
        make_events(w) != 0 ||
        (w->http = http_server_new(w->base, workers->listener, on_request,
                                   w)) == NULL) {
        worker_free(w);
        return NULL;
    }
    http_server_watch_refused(w->http, on_refused);
    limit_of_thread(w, settings);
    return w;
}

int worker_start(struct worker *worker)
{
    int rc;

    atomic_store(&worker->turned, clock_ms());
    rc = pthread_create(&worker->thread, NULL, run_thread, worker);
    worker->started = rc == 0;
    return rc;
}

static void wake_thread(const struct worker *worker)
{
    eventfd_write(worker->wakeup, 1);
}

void worker_configure(struct worker *worker, struct settings *settings)
{
    settings_unref(atomic_exchange(&worker->news, settings_ref(settings)));
    wake_thread(worker);
}

void worker_stop(struct worker *worker)
{
    atomic_store(&worker->stopping, true);
    wake_thread(worker);
}

bool worker_is_alive(const struct worker *worker, unsigned ms)
{
    bool is_alive = clock_since(atomic_load(&worker->turned)) < ms;

    wake_thread(worker);
    return is_alive;
}

const struct stats *worker_stats(const struct worker *worker)
{
    return &worker->context.stats;
}
