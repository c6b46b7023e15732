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

static void on_worker_refused(int status, void *arg)
{
    struct worker *worker = arg;

    stats_add(&worker->context.stats.refused, 1);
    log_info(0, "request refused: status=%d, it %s", status,
             status == 408 ? "was not whole in time" : "cannot be read");
}

static void on_worker_request(struct http_request *request, void *arg)
{
    struct worker *worker = arg;

    if (!daemon_page_reply(worker->workers, request)) {
        request_start(&worker->context, request);
    }
}

/* life -------------------------------------------------------------------- */

static void on_worker_trim(evutil_socket_t fd, short what, void *arg)
{
    struct worker *worker = arg;

    atomic_store(&worker->turned, clock_ms());
    mapped_modules_evict_stale(worker->workers->mapped);
    module_cache_trim(worker->context.searcher.cache);
    pending_calls_evict();
}

static void on_worker_drained(void *arg)
{
    struct worker *worker = arg;

    event_base_loopbreak(worker->base);
}

static void worker_on_drain_timeout(evutil_socket_t fd, short what, void *arg)
{
    on_worker_drained(arg);
}

/* Bodies that workers read. */
static bool needs_spool(const char *path, void *arg)
{
    const struct worker *worker = arg;
    const struct symbolication_config *config =
        worker->context.settings->symbolication;

    return worker->context.pool != NULL &&
           ((config->symbolicator.enabled &&
             symbolicator_takes_form(config, path)) ||
            profile_owns(config, path));
}

static void limit_of_thread(struct worker *worker,
                            const struct settings *settings)
{
    const struct symbolication_limits_config *limits =
        &settings->symbolication->limits;

    http_server_limit(worker->http, limits->body_size, limits->receiving_size,
                      limits->answer_size);
    http_server_spool(worker->http, needs_spool, limits->crash_size);
    spool_limit(limits->spool_size);
}

static void on_worker_woken(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval patience = {.tv_sec = DRAIN_SECONDS};
    struct worker *worker = arg;
    struct settings *news = atomic_exchange(&worker->news, NULL);
    eventfd_t n;

    eventfd_read(fd, &n);
    atomic_store(&worker->turned, clock_ms());
    if (news != NULL) {
        settings_unref(worker->context.settings);
        worker->context.settings = news;
        limit_of_thread(worker, news);
    }
    if (atomic_load(&worker->stopping) && !worker->is_draining) {
        worker->is_draining = true;
        event_add(worker->drain, &patience);
        http_server_stop(worker->http, on_worker_drained, worker);
        request_context_stop(&worker->context);
    }
}

static void *run_thread(void *arg)
{
    struct worker *worker = arg;

    event_base_dispatch(worker->base);
    task_cancel_all();
    return NULL;
}

void worker_join(struct worker *worker)
{
    if (worker != NULL && worker->started) {
        pthread_join(worker->thread, NULL);
    }
}

void worker_free(struct worker *worker)
{
    if (worker == NULL) {
        return;
    }
    http_server_free(worker->http);
    request_context_clear(&worker->context);
    settings_unref(atomic_load(&worker->news));
    event_drop(worker->trim);
    event_drop(worker->drain);
    event_drop(worker->woken);
    if (worker->base != NULL) {
        symcached_client_end(worker->base);
        event_base_free(worker->base);
    }
    fd_close(worker->wakeup);
    free(worker);
}

/* Returns 0, or -1: out of memory or descriptors. */
static int make_worker_events(struct worker *worker)
{
    static const struct timeval often = {.tv_sec = TRIM_SECONDS};

    worker->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    worker->trim =
        event_new(worker->base, -1, EV_PERSIST, on_worker_trim, worker);
    worker->drain = evtimer_new(worker->base, worker_on_drain_timeout, worker);
    worker->woken = event_new(worker->base, worker->wakeup,
                              EV_READ | EV_PERSIST, on_worker_woken, worker);
    return worker->wakeup != -1 && worker->trim != NULL &&
                   worker->drain != NULL && worker->woken != NULL &&
                   event_add(worker->woken, NULL) == 0 &&
                   event_add(worker->trim, &often) == 0
               ? 0
               : -1;
}

struct worker *worker_new(struct workers *workers, int spawner,
                          struct settings *settings)
{
    struct worker *worker = calloc(1, sizeof(*worker));

    if (worker == NULL) {
        return NULL;
    }
    worker->workers = workers;
    worker->wakeup = -1;
    worker->base = event_base_new();
    if (worker->base == NULL ||
        request_context_init(&worker->context, worker->base, workers->mapped,
                             spawner, settings) != 0 ||
        make_worker_events(worker) != 0 ||
        (worker->http = http_server_new(worker->base, workers->listener,
                                        on_worker_request, worker)) == NULL) {
        worker_free(worker);
        return NULL;
    }
    http_server_watch_refused(worker->http, on_worker_refused);
    limit_of_thread(worker, settings);
    return worker;
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
