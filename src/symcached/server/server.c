/*
 * Copyright (C) the ngx_symcache authors
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include "hold.h"
#include "jobs.h"
#include "listener.h"
#include "log.h"
#include "metrics.h"
#include "reply.h"
#include "server.h"
#include "status.h"

/* Requests have no body and a path of at most three escaped names. */
#define HEADERS_MAX 16384
#define BODY_MAX 4096

/* nginx closes idle connections after 60 s itself */
#define IDLE_SECONDS 120

/* How long answers may take to leave when we stop. */
#define DRAIN_SECONDS 3

/* Of events; all others have 1, the middle of three. */
#define REQUEST_PRIORITY 2
#define REQUESTS_AT_ONCE 64

/* No descriptor left: others must close first. */
#define ACCEPT_PAUSE_MS 100

#define SEGMENTS_MAX 5

struct server {
    struct event_base *base;
    struct jobs *jobs;
    struct evhttp *http;
    struct evhttp_bound_socket *bound;
    struct listener listener;
    struct event *resume; /* accepting, after a pause */
    struct event *drain;
    unsigned open; /* requests that are not answered yet */
    time_t started;
    void (*done)(void *arg);
    void *arg;
};

/* A decoded request path: /v1/<word>/<store>/<pdb>/<GUIDAGE>. */
struct target {
    char *segments[SEGMENTS_MAX];
    size_t lengths[SEGMENTS_MAX];
    unsigned n;
    const struct store_config *store;
    symcache_key_t key;
};

static void target_clear(struct target *t)
{
    while (t->n > 0) {
        free(t->segments[--t->n]);
    }
}

static bool target_split(struct target *t, const char *path)
{
    char part[HEADERS_MAX];
    size_t len;

    memset(t, 0, sizeof(*t));
    while (*path == '/') {
        path++;
        len = strcspn(path, "/");
        if (*path == '\0' && t->n > 0) {
            return true; /* a trailing slash */
        }
        if (t->n == SEGMENTS_MAX || len >= sizeof(part)) {
            return false;
        }
        memcpy(part, path, len);
        part[len] = '\0';
        t->segments[t->n] = evhttp_uridecode(part, 0, &t->lengths[t->n]);
        if (t->segments[t->n] == NULL) {
            return false;
        }
        t->n++;
        path += len;
    }
    return *path == '\0';
}

static void refuse(struct evhttp_request *req, int status, const char *error,
                   const char *detail)
{
    metrics_add(METRIC_REQUEST_REFUSED, 1);
    reply_error(req, status, error, detail);
}

/*
 * Segments 2.. of the path: store, pdb, id.  Returns false when it has
 * answered.
 */
static bool target_key(struct server *s, struct target *t, bool need_id,
                       struct evhttp_request *req)
{
    symcache_status_e status;

    if (t->n != 5 && (need_id || t->n != 4)) {
        refuse(req, 404, "not-found", "the path is /v1/.../store/pdb/id");
        return false;
    }

    status = symcache_name_parse(t->segments[3], t->lengths[3], &t->key);
    if (status == SYMCACHE_OK && t->n == 5) {
        status = symcache_id_parse(t->segments[4], t->lengths[4], &t->key);
    }
    if (status != SYMCACHE_OK) {
        refuse(req, 400, "bad-key", symcache_status_text(status));
        return false;
    }

    t->store =
        config_store(jobs_config(s->jobs), t->segments[2], t->lengths[2]);
    if (t->store == NULL) {
        /* a fault of the configuration here or in nginx: nothing is known */
        metrics_add(METRIC_REQUEST_REFUSED, 1);
        reply_number(req, "Retry-After", 60);
        reply_error(req, 503, "unknown-store", t->segments[2]);
        return false;
    }
    return true;
}

/* pages ----------------------------------------------------------------- */

typedef void (*page_fn)(struct server *s, struct target *t, const char *query,
                        struct evhttp_request *req);

static void on_hold_ended(void *arg);

static void page_lookup(struct server *s, struct target *t, const char *query,
                        struct evhttp_request *req)
{
    struct hold_query q;
    const char *wrong;

    if (!target_key(s, t, true, req)) {
        return;
    }
    wrong = hold_parse(query, &q);
    if (wrong != NULL) {
        refuse(req, 400, "bad-query", wrong);
        return;
    }
    hold_start(s->base, s->jobs, t->store, &t->key, t->segments[3], &q, req,
               on_hold_ended, s);
}

static void page_why(struct server *s, struct target *t, const char *query,
                     struct evhttp_request *req)
{
    if (target_key(s, t, true, req)) {
        reply_json(req, jobs_why(s->jobs, t->store, &t->key));
    }
}

static void page_forget(struct server *s, struct target *t, const char *query,
                        struct evhttp_request *req)
{
    cJSON *object;
    unsigned n;

    if (!target_key(s, t, false, req)) {
        return;
    }
    n = jobs_forget(s->jobs, t->store, &t->key, t->n == 5);
    metrics_add(METRIC_FORGOTTEN, n);
    log_info(0, "forget store=%s pdb=%s entries=%u", t->store->name,
             t->key.name, n);

    object = cJSON_CreateObject();
    cJSON_AddNumberToObject(object, "forgotten", n);
    reply_json(req, object);
}

static void page_jobs(struct server *s, struct target *t, const char *query,
                      struct evhttp_request *req)
{
    reply_json(req, jobs_json(s->jobs));
}

static void page_sources(struct server *s, struct target *t, const char *query,
                         struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddItemToObject(object, "sources", jobs_sources(s->jobs));
    reply_json(req, object);
}

static void page_misses(struct server *s, struct target *t, const char *query,
                        struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddItemToObject(object, "misses", jobs_misses(s->jobs));
    reply_json(req, object);
}

static void page_status(struct server *s, struct target *t, const char *query,
                        struct evhttp_request *req)
{
    struct evbuffer *buf = evbuffer_new();
    cJSON *jobs = jobs_json(s->jobs), *misses = jobs_misses(s->jobs);
    cJSON *sources = jobs_sources(s->jobs);

    if (buf == NULL) {
        reply_empty(req, 503);
    } else {
        status_print(buf, jobs, sources, misses);
        reply_text(req, buf);
    }
    cJSON_Delete(jobs);
    cJSON_Delete(sources);
    cJSON_Delete(misses);
}

static void page_metrics(struct server *s, struct target *t, const char *query,
                         struct evhttp_request *req)
{
    struct evbuffer *buf = evbuffer_new();
    struct jobs_gauges g;

    if (buf == NULL) {
        reply_empty(req, 503);
        return;
    }

    jobs_gauges(s->jobs, &g);
    metrics_print(buf);
    jobs_print_sources(s->jobs, buf);
    metrics_print_gauge(buf, "symcached_jobs_queued",
                        "Jobs that wait for a slot.", g.queued);
    metrics_print_gauge(buf, "symcached_jobs_downloading",
                        "Jobs that ask a source.", g.downloading);
    metrics_print_gauge(buf, "symcached_jobs_transcoding",
                        "Jobs whose transcoder runs.", g.transcoding);
    metrics_print_gauge(buf, "symcached_waiters",
                        "Lookups that are held on the socket.", g.waiters);
    metrics_print_gauge(buf, "symcached_failures_remembered",
                        "Keys not tried again yet because of a failure.",
                        g.failures);
    metrics_print_gauge(buf, "symcached_start_time_seconds",
                        "When the process started, as Unix time.",
                        (double)s->started);
    reply_text(req, buf);
}

static void page_healthz(struct server *s, struct target *t, const char *query,
                         struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "status", "ok");
    reply_json(req, object);
}

static void page_version(struct server *s, struct target *t, const char *query,
                         struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "version", SYMCACHED_VERSION);
    reply_json(req, object);
}

static const struct page {
    unsigned prefix; /* segments of the name; 2 = "v1/..." */
    const char *name;
    bool post;
    bool has_query;
    bool has_key;
    page_fn fn;
} pages[] = {
    {2, "symcache", false, true, true, page_lookup},
    {2, "why", false, false, true, page_why},
    {2, "forget", true, false, true, page_forget},
    {2, "jobs", false, false, false, page_jobs},
    {2, "sources", false, false, false, page_sources},
    {2, "misses", false, false, false, page_misses},
    {2, "status", false, false, false, page_status},
    {1, "metrics", false, false, false, page_metrics},
    {1, "healthz", false, false, false, page_healthz},
    {1, "version", false, false, false, page_version},
};

static const struct page *find_page(const struct target *t)
{
    const struct page *page;
    size_t i;

    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        page = &pages[i];
        if (t->n < page->prefix || (!page->has_key && t->n != page->prefix) ||
            (page->prefix == 2 && strcmp(t->segments[0], "v1") != 0)) {
            continue;
        }
        if (strcmp(t->segments[page->prefix - 1], page->name) == 0) {
            return page;
        }
    }
    return NULL;
}

static void run_page(struct server *s, const struct page *page,
                     struct target *t, const char *query,
                     struct evhttp_request *req)
{
    enum evhttp_cmd_type method = evhttp_request_get_command(req);

    if (page->post ? method != EVHTTP_REQ_POST
                   : method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
        reply_header(req, "Allow", page->post ? "POST" : "GET, HEAD");
        refuse(req, 405, "method-not-allowed", page->name);
        return;
    }
    if (!page->has_query && query != NULL && query[0] != '\0') {
        refuse(req, 400, "bad-query", "this page takes no query");
        return;
    }
    page->fn(s, t, query, req);
}

/* life ------------------------------------------------------------------ */

static void drained(struct server *s)
{
    void (*done)(void *arg) = s->done;

    if (done != NULL && s->open == 0) {
        s->done = NULL;
        done(s->arg);
    }
}

/* The answer is in the kernel's hands. */
static void on_sent(struct evhttp_request *req, void *arg)
{
    struct server *s = arg;

    evhttp_connection_set_closecb(evhttp_request_get_connection(req), NULL,
                                  NULL);
    s->open--;
    drained(s);
}

static void on_hold_ended(void *arg)
{
    struct server *s = arg;

    s->open--;
    drained(s);
}

static void on_freed(struct evhttp_connection *connection, void *arg)
{
    struct server *s = arg;

    s->open--;
    drained(s);
}

static void on_request(struct evhttp_request *req, void *arg)
{
    struct server *s = arg;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    const struct page *page = NULL;
    struct target t = {0};

    s->open++;
    evhttp_request_set_on_complete_cb(req, on_sent, s);
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), on_freed,
                                  s);
    if (s->done != NULL) {
        reply_header(req, "Connection", "close");
    }

    if (path != NULL && target_split(&t, path)) {
        page = find_page(&t);
    }
    if (page == NULL) {
        refuse(req, 404, "not-found", "no such page");
    } else {
        run_page(s, page, &t, evhttp_uri_get_query(uri), req);
    }
    target_clear(&t);
}

/* The argument of a listener's callbacks is evhttp's, so it is kept here. */
static struct server *accepting;

static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct server *s = accepting;
    struct timeval pause = {.tv_usec = ACCEPT_PAUSE_MS * 1000};

    log_crit(EVUTIL_SOCKET_ERROR(), "accept() failed");
    evconnlistener_disable(listener);
    event_add(s->resume, &pause);
}

/*
 * Requests come after new connections: a backlog that is full while requests
 * are read refuses nginx.  NULL: evhttp makes its own.
 */
static struct bufferevent *on_accept(struct event_base *base, void *arg)
{
    struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

    if (bev != NULL) {
        bufferevent_priority_set(bev, REQUEST_PRIORITY);
    }
    return bev;
}

static void on_resume(evutil_socket_t fd, short events, void *arg)
{
    struct server *s = arg;

    if (s->bound != NULL) {
        evconnlistener_enable(evhttp_bound_socket_get_listener(s->bound));
    }
}

static void on_drain_timeout(evutil_socket_t fd, short events, void *arg)
{
    struct server *s = arg;

    s->open = 0;
    drained(s);
}

struct event_base *server_event_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config != NULL &&
        event_config_set_max_dispatch_interval(config, NULL, REQUESTS_AT_ONCE,
                                               REQUEST_PRIORITY) == 0) {
        base = event_base_new_with_config(config);
    }
    if (config != NULL) {
        event_config_free(config);
    }
    if (base != NULL &&
        event_base_priority_init(base, REQUEST_PRIORITY + 1) != 0) {
        event_base_free(base);
        base = NULL;
    }
    return base;
}

struct server *server_new(struct event_base *base, struct jobs *jobs,
                          const char *listen, char *error, size_t size)
{
    struct server *s = calloc(1, sizeof(*s));

    if (s == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }

    s->base = base;
    s->jobs = jobs;
    s->started = time(NULL);
    s->listener.fd = -1;
    s->http = evhttp_new(base);
    s->resume = evtimer_new(base, on_resume, s);
    s->drain = evtimer_new(base, on_drain_timeout, s);
    if (s->http == NULL || s->resume == NULL || s->drain == NULL) {
        snprintf(error, size, "out of memory");
        server_free(s);
        return NULL;
    }

    evhttp_set_allowed_methods(s->http, 0xffff); /* pages refuse by 405 */
    evhttp_set_max_headers_size(s->http, HEADERS_MAX);
    evhttp_set_max_body_size(s->http, BODY_MAX);
    evhttp_set_timeout(s->http, IDLE_SECONDS);
    evhttp_set_gencb(s->http, on_request, s);
    evhttp_set_bevcb(s->http, on_accept, s);

    if (listener_open(&s->listener, listen, error, size) != 0) {
        server_free(s);
        return NULL;
    }
    s->bound = evhttp_accept_socket_with_handle(s->http, s->listener.fd);
    if (s->bound == NULL) {
        snprintf(error, size, "cannot accept on \"%s\"", listen);
        server_free(s);
        return NULL;
    }
    accepting = s;
    evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(s->bound),
                                on_accept_error);
    return s;
}

void server_stop(struct server *server, void (*done)(void *arg), void *arg)
{
    struct timeval limit = {.tv_sec = DRAIN_SECONDS};

    server->done = done;
    server->arg = arg;
    listener_unlink(&server->listener);
    if (server->bound != NULL) {
        evhttp_del_accept_socket(server->http, server->bound);
        server->bound = NULL;
    }
    event_add(server->drain, &limit);
    drained(server);
}

void server_free(struct server *server)
{
    if (server == NULL) {
        return;
    }
    listener_unlink(&server->listener);
    if (server->http != NULL) {
        evhttp_free(server->http);
    }
    if (server->resume != NULL) {
        event_free(server->resume);
    }
    if (server->drain != NULL) {
        event_free(server->drain);
    }
    free(server);
}
