/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pages of the server, and the table in which a request's is found.
 */
#include "server_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "http/http.h"
#include "symcached/guest/guest.h"
#include "symcached/job/job.h"
#include "symcached/negcache/negcache.h"
#include "symcached/upload/upload.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "base/release.h"
#include "pages.h"
#include "lookup_batch.h"
#include "ready.h"
#include "daemon_reports.h"
#include "single_lookup.h"
#include "status_page.h"
#include "url_path.h"
#include "symcached/metadata/metadata.h"
#include "upload_page.h"

/* The scheduler of the store in a path: that of a guest store, or else the one
 * of all stores of the configuration. */
static struct scheduler *page_scheduler(void *arg, const struct url_path *path)
{
    const struct server *server = arg;
    struct scheduler *guest =
        server->guests != NULL && path->n > 2
            ? guests_find(server->guests, path->segments[2])
            : NULL;

    return guest != NULL ? guest : server->scheduler;
}

/* Reads key and store.  Returns false when the request has been answered. */
static bool page_find_key(struct server *server, struct url_path *path,
                          symcache_kind_e kind, bool need_id,
                          struct evhttp_request *req)
{
    struct url_path_error error;

    if (!url_path_key(path, kind, need_id, &error) ||
        !url_path_store(path, scheduler_config(page_scheduler(server, path)),
                        &error)) {
        url_path_reply(req, &error);
        return false;
    }
    return true;
}

/* Replies with an object that has one value, which it frees. */
static void page_reply_value(struct evhttp_request *req, const char *name,
                             cJSON *value)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddItemToObject(object, name, value);
    reply_json(req, object);
}

typedef void (*page_fn)(struct server *s, struct url_path *path,
                        const char *query, struct evhttp_request *req);

static void page_lookup(struct server *server, struct url_path *path,
                        const char *query, struct evhttp_request *req)
{
    struct lookup_query lookup_query;
    struct url_path_error error;
    const char *wrong;

    if (!url_path_lookup(path, scheduler_config(page_scheduler(server, path)),
                         &error)) {
        url_path_reply(req, &error);
        return;
    }
    wrong = lookup_query_parse(query, false, &lookup_query);
    if (wrong == NULL && !lookup_query_is_proved(&lookup_query, &path->key)) {
        wrong = "the id must be the SHA-256 of url=";
    }
    if (wrong != NULL) {
        url_path_refuse(req, 400, "bad-query", wrong);
        return;
    }
    single_lookup_start(server->base, page_scheduler(server, path),
                        path->store, &path->key, path->segments[3],
                        &lookup_query, req, server_request_ended, server);
}

static void page_lookups(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    struct lookup_query lookup_query;
    const char *wrong = lookup_query_parse(query, true, &lookup_query);

    if (wrong == NULL && lookup_query.hints[0] != '\0') {
        wrong = "a hint belongs to a lookup, in its line";
    }
    if (wrong != NULL) {
        url_path_refuse(req, 400, "bad-query", wrong);
        return;
    }
    lookup_batch_start(server->base, page_scheduler, &lookup_query, req,
                       server_request_ended, server);
}

static void page_why(struct server *server, struct url_path *path,
                     const char *query, struct evhttp_request *req)
{
    symcache_kind_e kind;

    if (!url_path_query_kind(query, &kind)) {
        url_path_refuse(req, 400, "bad-query",
                        "only kind=KIND, of a kind that is known");
        return;
    }
    if (page_find_key(server, path, kind, true, req)) {
        reply_json(req, scheduler_why(page_scheduler(server, path),
                                      path->store, &path->key));
    }
}

static void page_find(struct server *server, struct url_path *path,
                      const char *query, struct evhttp_request *req)
{
    find_page(scheduler_config(server->scheduler), query, req);
}

static void page_reply_forgotten(struct evhttp_request *req, unsigned long n)
{
    cJSON *object = cJSON_CreateObject();

    metrics_add(METRIC_FORGOTTEN, n);
    cJSON_AddNumberToObject(object, "forgotten", (double)n);
    reply_json(req, object);
}

static void page_on_forgotten(void *arg, unsigned long n, const char *error)
{
    struct server *server = arg;
    struct evhttp_request *req = server->forgetting;

    server->forget = NULL;
    server->forgetting = NULL;
    n += server->forgot;
    if (error == NULL) {
        log_info(0, "forget store=%s entries=%lu", server->forgets, n);
        page_reply_forgotten(req, n);
        return;
    }
    log_error(0, "forget store=%s entries=%lu, %s", server->forgets, n, error);
    metrics_add(METRIC_FORGOTTEN, n);
    reply_error(req, 500, "not-all-forgotten", error);
}

/*
 * Forgets all that is malformed in a store.  A client that goes away meanwhile
 * is answered like one that waits, since evhttp does not read from its
 * connection and so does not notice.
 */
static void page_forget_malformed(struct server *server, struct url_path *path,
                                  const char *query,
                                  struct evhttp_request *req)
{
    struct url_path_error error;
    const char *wrong;
    time_t since;

    if (!url_path_store(path, scheduler_config(page_scheduler(server, path)),
                        &error)) {
        url_path_reply(req, &error);
        return;
    }
    wrong = forget_parse(query, &since);
    if (wrong != NULL) {
        url_path_refuse(req, 400, "bad-query", wrong);
        return;
    }
    if (server->forget != NULL) {
        reply_number(req, "Retry-After", 1);
        reply_error(req, 503, "busy", "a store is walked already");
        return;
    }
    server->forget = forget_malformed_start(server->base, path->store->root,
                                            since, page_on_forgotten, server);
    if (server->forget == NULL) {
        reply_error(req, 500, "no-process", strerror(errno));
        return;
    }
    server->forgetting = req;
    snprintf(server->forgets, sizeof(server->forgets), "%s",
             path->store->name);
    server->forgot = scheduler_forget_transcoders(page_scheduler(server, path),
                                                  path->store, since);
    log_info(0, "forget store=%s malformed_since=%lld", server->forgets,
             (long long)since);
}

static void page_forget(struct server *server, struct url_path *path,
                        const char *query, struct evhttp_request *req)
{
    int errnum;
    unsigned n;

    if (path->n == 3) {
        page_forget_malformed(server, path, query, req);
        return;
    }
    if (query != NULL && query[0] != '\0') {
        url_path_refuse(req, 400, "bad-query", "this page takes no query");
        return;
    }
    if (!page_find_key(server, path, SYMCACHE_KIND_SYMCACHE, false, req)) {
        return;
    }
    n = scheduler_forget(page_scheduler(server, path), path->store, &path->key,
                         path->n == 5, &errnum);
    if (errnum != 0) {
        log_error(errnum, "forget store=%s pdb=%s entries=%u, not all of it",
                  path->store->name, path->key.name, n);
        metrics_add(METRIC_FORGOTTEN, n);
        reply_error(req, 500, "not-all-forgotten", strerror(errnum));
        return;
    }
    log_info(0, "forget store=%s pdb=%s entries=%u", path->store->name,
             path->key.name, n);
    page_reply_forgotten(req, n);
}

/* Also tells how much is left to wait for. */
static void page_set_drain(struct server *server, bool begin,
                           struct evhttp_request *req)
{
    struct scheduler_gauges g;

    scheduler_drain(server->scheduler, begin);
    scheduler_gauges(server->scheduler, &g);
    log_info(0, "drain %s, %u requests wait", begin ? "begins" : "ends",
             g.waiters);
    reply_json(req, scheduler_json(server->scheduler));
}

static void page_drain(struct server *server, struct url_path *path,
                       const char *query, struct evhttp_request *req)
{
    page_set_drain(server, true, req);
}

static void page_undrain(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    page_set_drain(server, false, req);
}

static void page_jobs(struct server *server, struct url_path *path,
                      const char *query, struct evhttp_request *req)
{
    cJSON *object = scheduler_json(server->scheduler);

    if (server->guests != NULL) {
        cJSON_AddItemToObject(object, "tenants", guests_jobs(server->guests));
    }
    reply_json(req, object);
}

/* The objects of get() for all stores. */
static cJSON *page_gather(const struct server *server,
                          cJSON *(*get)(const struct scheduler *scheduler))
{
    cJSON *array = get(server->scheduler);

    if (server->guests != NULL) {
        guests_add(server->guests, array, get);
    }
    return array;
}

static void page_sources(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    page_reply_value(req, "sources", page_gather(server, scheduler_sources));
}

static void page_misses(struct server *server, struct url_path *path,
                        const char *query, struct evhttp_request *req)
{
    page_reply_value(req, "misses", page_gather(server, scheduler_misses));
}

static void page_status(struct server *server, struct url_path *path,
                        const char *query, struct evhttp_request *req)
{
    const char *why = ready_why_not(server->ready);
    const char *no_uploads = ready_why_no_uploads(server->ready);
    struct status status = {
        .config_stale = server->config_stale,
        .not_ready = why != NULL ? why : "",
        .uploads_not_ready = no_uploads != NULL ? no_uploads : "",
        .started = server->started,
        .disks = ready_disks(server->ready, server->evict),
        .jobs = scheduler_json(server->scheduler),
        .sources = page_gather(server, scheduler_sources),
        .tiers = scheduler_tiers(server->scheduler),
        .misses = page_gather(server, scheduler_misses),
        .reports = daemon_reports_json(server->reports),
        .tenants = server->guests != NULL
                       ? guests_json(server->guests)
                       : guest_process_json(server->guest_process),
    };

    cJSON_AddNumberToObject(status.jobs, "inquiries",
                            metadata_running(server->metadata));
    cJSON_AddNumberToObject(status.jobs, "builds",
                            (double)uploads_builds(server->uploads));
    cJSON_AddNumberToObject(status.jobs, "uploads_refused",
                            (double)refusals_counted());
    cJSON_AddNumberToObject(
        status.jobs, "packed",
        (double)(metrics_counted(METRIC_PACKED_CABINET_FOUND) +
                 metrics_counted(METRIC_PACKED_GZIP_FOUND) +
                 metrics_counted(METRIC_PACKED_SYMGZIP_FOUND)));
    reply_json(req, status_page_json(&status));
}

/* A symbolicated says that it is there. */
static void page_report(struct server *server, struct url_path *path,
                        const char *query, struct evhttp_request *req)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(req);
    const char *wrong =
        daemon_reports_take(server->reports, (char *)evbuffer_pullup(body, -1),
                            evbuffer_get_length(body));

    if (wrong != NULL) {
        url_path_refuse(req, 400, "bad-report", wrong);
        return;
    }
    reply_empty(req, 200);
}

static void page_metrics(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    metrics_page(server->scheduler, server->ready, server->uploads,
                 server->started, req);
}

static void page_healthz(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    page_reply_value(req, "status", cJSON_CreateString("ok"));
}

static void page_readyz(struct server *server, struct url_path *path,
                        const char *query, struct evhttp_request *req)
{
    ready_page(server->ready, req);
}

static void page_version(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    page_reply_value(req, "version", cJSON_CreateString(SYMCACHED_VERSION));
}

static void page_tenants(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    tenant_page(server->guests, req);
}

static void page_fetch(struct server *server, struct url_path *path,
                       const char *query, struct evhttp_request *req)
{
    one_time_fetch_page_start(server->base, server->fetches,
                              scheduler_config(server->scheduler), req,
                              server_request_ended, server);
}

static void page_uploads(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    if (tecken_has(path, req)) {
        tecken_page(server->tecken, scheduler_config(server->scheduler), path,
                    req);
        return;
    }
    upload_page(server->uploads, scheduler_config(server->scheduler), path,
                query, req);
}

static void page_unread(struct server *server, struct url_path *path,
                        const char *query, struct evhttp_request *req)
{
    unread_page(req);
}

static void page_symbfile(struct server *server, struct url_path *path,
                          const char *query, struct evhttp_request *req)
{
    symbfile_upload_page(server->uploads, scheduler_config(server->scheduler),
                         path, req);
}

static void page_sentry(struct server *server, struct url_path *path,
                        const char *query, struct evhttp_request *req)
{
    sentry_page(server->uploads, scheduler_config(server->scheduler), path,
                query, req);
}

static void page_symupload(struct server *server, struct url_path *path,
                           const char *query, struct evhttp_request *req)
{
    symupload_page(server->symuploads, scheduler_config(server->scheduler),
                   path, query, req);
}

static void page_pyroscope(struct server *server, struct url_path *path,
                           const char *query, struct evhttp_request *req)
{
    pyroscope_page(server->pyroscope, scheduler_config(server->scheduler),
                   path, req);
}

static void page_missing(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    if (path->n != 3 || strcmp(path->segments[2], "missing") != 0) {
        url_path_refuse(req, 404, "not-found", "no such page");
        return;
    }
    missing_page(server->scheduler, query, req);
}

static void page_symbfiles(struct server *server, struct url_path *path,
                           const char *query, struct evhttp_request *req)
{
    symbfile_store_page(server->base, server->scheduler, path, req,
                        server_request_ended, server);
}

static void page_metadata(struct server *server, struct url_path *path,
                          const char *query, struct evhttp_request *req)
{
    metadata_page(server->metadata, scheduler_config(server->scheduler), query,
                  req);
}

static void page_discard(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    discard_page(server->uploads, scheduler_config(server->scheduler), path,
                 query, req);
}

static void page_changed(struct server *server, struct url_path *path,
                         const char *query, struct evhttp_request *req)
{
    changed_page(server->uploads, scheduler_config(server->scheduler), path,
                 query, req);
}

#define GET (EVHTTP_REQ_GET | EVHTTP_REQ_HEAD)
#define POST EVHTTP_REQ_POST
#define PUT (EVHTTP_REQ_PUT | EVHTTP_REQ_HEAD)

static const struct page {
    unsigned prefix; /* segments of the name; 2 = "v1/..." */
    const char *name;
    enum right right;
    unsigned methods; /* of libevent */
    bool has_query;
    bool has_key;
    page_fn fn;
} pages[] = {
    {2, "lookup", RIGHT_LOOKUP, GET, true, true,
     page_lookup}, /* under each kind */
    {2, "lookups", RIGHT_LOOKUP, POST, true, false, page_lookups},
    {2, "why", RIGHT_READ, GET, true, true, page_why},
    {2, "find", RIGHT_READ, GET, true, false, page_find},
    {2, "forget", RIGHT_ADMIN, POST, true, true, page_forget},
    {2, "drain", RIGHT_ADMIN, POST, false, false, page_drain},
    {2, "undrain", RIGHT_ADMIN, POST, false, false, page_undrain},
    {2, "jobs", RIGHT_READ, GET, false, false, page_jobs},
    {2, "sources", RIGHT_READ, GET, false, false, page_sources},
    {2, "misses", RIGHT_READ, GET, false, false, page_misses},
    {2, "status", RIGHT_READ, GET, false, false, page_status},
    {2, "symbolicated", RIGHT_READ, POST, false, false, page_report},
    {2, "uploads", RIGHT_UPLOAD, POST | PUT, true, true, page_uploads},
    {2, "unread", RIGHT_UPLOAD, GET, false, false, page_unread},
    {2, "symbols-ranges", RIGHT_UPLOAD, POST, false, false, page_symbfile},
    {2, "symbols-returnpads", RIGHT_UPLOAD, POST, false, false, page_symbfile},
    {2, "symbfiles", RIGHT_UPLOAD, GET, false, true, page_symbfiles},
    {2, "symbols", RIGHT_UPLOAD, GET, true, true, page_missing},
    {2, "sentry", RIGHT_UPLOAD, GET | POST | PUT, true, true, page_sentry},
    {2, "symupload", RIGHT_UPLOAD, GET | POST | PUT, true, true,
     page_symupload},
    {2, "pyroscope", RIGHT_UPLOAD, POST, false, true, page_pyroscope},
    {2, "metadata", RIGHT_LOOKUP, GET, true, false, page_metadata},
    {2, "discard", RIGHT_ADMIN, POST, true, true, page_discard},
    {2, "changed", RIGHT_ADMIN, POST, true, true, page_changed},
    {2, "tenants", RIGHT_READ, POST, false, false, page_tenants},
    {2, "fetch", RIGHT_READ, POST, false, false, page_fetch},
    {1, "metrics", RIGHT_READ, GET, false, false, page_metrics},
    {1, "healthz", RIGHT_LOOKUP, GET, false, false, page_healthz},
    {1, "readyz", RIGHT_LOOKUP, GET, false, false, page_readyz},
    {1, "version", RIGHT_LOOKUP, GET, false, false, page_version},
};

/* Is this segment the name of the page?  Kinds are the names of lookups. */
static bool page_is_called(const struct page *page, const char *segment,
                           size_t len)
{
    symcache_kind_e kind;

    return page->fn == page_lookup ? symcache_kind_parse(segment, len, &kind)
                                   : strcmp(segment, page->name) == 0;
}

static const struct page *page_of(const struct url_path *path)
{
    const struct page *page;
    size_t i;

    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        page = &pages[i];
        if (path->n < page->prefix ||
            (!page->has_key && path->n != page->prefix) ||
            (page->prefix == 2 && strcmp(path->segments[0], "v1") != 0)) {
            continue;
        }
        if (page_is_called(page, path->segments[page->prefix - 1],
                           path->lengths[page->prefix - 1])) {
            return page;
        }
    }
    return NULL;
}

/* Returns the methods that a path of a page takes, for the header Allow. */
static const char *page_methods(const struct page *page,
                                const struct url_path *path)
{
    if (page->fn == page_uploads) {
        return path->n == page->prefix ? "POST, PUT" : "HEAD, PUT";
    }
    return page->methods == POST  ? "POST"
           : page->methods == GET ? "GET, HEAD"
           : page->methods & PUT  ? "GET, HEAD, POST, PUT"
                                  : "GET, HEAD, POST";
}

static void page_run(struct server *server, const struct page *page,
                     enum rights_socket socket, struct url_path *path,
                     const char *query, struct evhttp_request *req)
{
    enum evhttp_cmd_type method = evhttp_request_get_command(req);
    char text[128];

    if (!rights_check(scheduler_config(server->scheduler), socket, page->right,
                      req)) {
        return;
    }
    if ((page->methods & method) == 0) {
        reply_header(req, "Allow", page_methods(page, path));
        snprintf(text, sizeof(text), "this address takes %s%s",
                 page_methods(page, path),
                 page->fn == page_uploads
                     ? "; files are fetched in a location of symcache_symbols"
                     : "");
        url_path_refuse(req, 405, "method-not-allowed", text);
        return;
    }
    if (!page->has_query && query != NULL && query[0] != '\0') {
        url_path_refuse(req, 400, "bad-query", "this page takes no query");
        return;
    }
    if (query != NULL && strstr(query, "%00") != NULL) {
        /* values are read as strings, which would end there */
        url_path_refuse(req, 400, "bad-query", "the query has a NUL");
        return;
    }
    page->fn(server, path, query, req);
}

void page_serve(struct server *server, enum rights_socket socket,
                struct evhttp_request *req)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *uri_path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    const struct page *page = NULL;
    struct url_path path = {0};

    if (uri_path != NULL && url_path_split(&path, uri_path)) {
        page = page_of(&path);
    }
    if (page == NULL) {
        url_path_refuse(req, 404, "not-found", "no such page");
    } else {
        page_run(server, page, socket, &path, evhttp_uri_get_query(uri), req);
    }
    url_path_clear(&path);
}
