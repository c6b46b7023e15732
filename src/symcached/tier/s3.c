/*
 * Copyright (C) the ngx_symcache authors
 *
 * A bucket of S3, or of Google's storage by its XML API, which has other names
 * for headers.  A conditional PUT saves bytes where a store knows it, and
 * nothing more: others ignore the condition, and the last writer wins.
 */
#include "s3.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include "base/percent.h"
#include "base/task.h"
#include "bucket_page.h"
#include "presign.h"
#include "s3_headers.h"
#include "tier.h"

#define LIST_PAGE_MAX                                                         \
    (4 * 1024 * 1024) /* bytes of a page, which has 1000 keys */

/* The call whose request is sent again once the keys have been renewed. */
enum s3_request {
    REQUEST_GET,
    REQUEST_PUT,
    REQUEST_LOOK,
    REQUEST_COPY,
    REQUEST_HEAD,
    REQUEST_LIST,
    REQUEST_REMOVE
};

static int s3_request_again(struct tier_call *call, enum s3_request what);

void tier_s3_code(char code[TIER_CODE_MAX],
                  const struct fetch_response *response)
{
    const char *p = strstr(response->body, "<Code>");
    size_t n = 0;

    if (p != NULL) {
        p += strlen("<Code>");
        while (isalnum((unsigned char)p[n]) && n + 1 < TIER_CODE_MAX) {
            n++;
        }
    }
    snprintf(code, TIER_CODE_MAX, "%.*s", (int)n, p != NULL ? p : "");
}

static char *s3_url_below(const char *base, const struct tier_call *call)
{
    char name[3 * TIER_NAME_MAX + 1], *url;

    percent_encode_path(name, call->name);
    return asprintf(&url, "%s/%s", base, name) < 0 ? NULL : url;
}

static char *s3_object_url(const struct tier_call *call)
{
    return s3_url_below(call->config->url, call);
}

char *tier_s3_url(const struct tier_call *call)
{
    const struct tier_config *config = call->config;
    const struct transport_config *transport = &config->transport;
    char *url = s3_url_below(config->redirect_url, call), *copy = NULL;
    char buf[PRESIGN_MAX];
    struct presign presign = {.url = url,
                              .region = config->bucket.region,
                              .access_key = transport->user,
                              .secret_key = transport->password,
                              .seconds = config->redirect,
                              .now = time(NULL)};
    size_t i;

    for (i = 0; i < transport->nheaders; i++) {
        if (strcmp(transport->headers[i].name, BUCKET_TOKEN_HEADER) == 0) {
            presign.session_token = transport->headers[i].value;
        }
    }
    if (url != NULL && presign_get(buf, &presign)) {
        copy = strdup(buf);
    }
    free(url);
    return copy;
}

/* the keys ----------------------------------------------------------------- */

struct s3_renewal {
    struct tier_call *call;
    enum s3_request what;
    enum tier_reply reply; /* the answer that led to it */
    char detail[300];
    struct task *task;
};

static void s3_cancel_renewal(void *task)
{
    struct s3_renewal *renewal = task;

    task_cancel(renewal->task);
    free(renewal);
}

static void s3_on_renewed(void *arg, const char *error)
{
    struct s3_renewal *renewal = arg;
    struct tier_call *call = renewal->call;

    if (error != NULL) {
        tier_call_end(call, renewal->reply, "%s, and the keys: %s",
                      renewal->detail, error);
    } else if (call->config->transport.renewals == call->renewals) {
        tier_call_end(call, renewal->reply,
                      "%s, and the configuration has no other keys",
                      renewal->detail);
    } else {
        call->again = true;
        if (s3_request_again(call, renewal->what) != 0) {
            tier_call_end(call, TIER_REPLY_FAILED, "%s", strerror(errno));
        }
    }
    free(renewal);
}

/* Are the keys refused, so that they are read again?  Then the call goes on
 * when that is done. */
static bool s3_renews_keys(struct tier_call *call, enum s3_request what,
                           enum tier_reply reply, const char *detail,
                           const char *code)
{
    struct s3_renewal *renewal;

    if (call->again || !reload_keys_help(&call->config->transport, code)) {
        return false;
    }
    renewal = calloc(1, sizeof(*renewal));
    if (renewal == NULL) {
        return false;
    }
    renewal->call = call;
    renewal->what = what;
    renewal->reply = reply;
    snprintf(renewal->detail, sizeof(renewal->detail), "%s", detail);
    renewal->task = reload_keys_start(
        call->tiers->base, &call->config->transport, s3_on_renewed, renewal);
    if (renewal->task == NULL) {
        free(renewal);
        return false;
    }
    call->task = renewal;
    call->task_cancel = s3_cancel_renewal;
    return true;
}

/* answers ------------------------------------------------------------------ */

static bool s3_is_too_large(const struct fetch_response *response,
                            const char *code)
{
    return response->status == 413 || strcmp(code, "EntityTooLarge") == 0;
}

/* A quota has another code at each store, and another status. */
static bool s3_is_full(const struct fetch_response *response, const char *code)
{
    return response->status == 507 || strstr(code, "QuotaExceeded") != NULL;
}

void tier_s3_take_status(struct tier_call *call,
                         const struct fetch_response *response,
                         const char *code)
{
    call->status = response->status;
    call->refusal = s3_is_too_large(response, code) ? 413
                    : s3_is_full(response, code)    ? 507
                                                    : 0;
}

static bool s3_has_type_of_page(const struct fetch_response *response)
{
    return response->status < 300 &&
           strncasecmp(response->type, "text/html", strlen("text/html")) == 0;
}

/* Is it of a proxy that has a page for everything while the store is away?
 * Google's storage has this type as well, without a body or for XML. */
static bool s3_is_page(const struct fetch_response *response)
{
    return response->bytes > 0 && s3_has_type_of_page(response) &&
           strncmp(response->body, "<?xml", strlen("<?xml")) != 0;
}

/* The same of an answer without a body: objects have our type, and notes. */
static bool s3_is_page_head(const struct fetch_response *response)
{
    return response->bytes == 0 && s3_has_type_of_page(response) &&
           response->meta[0] == '\0';
}

/*
 * A refusal that the next request will get as well opens the breaker at once,
 * with its code.  A store may say of keys that it does not know what it says of
 * objects, so 404 is an absence with the code for objects or without any.
 */
enum tier_reply tier_s3_judge(const struct fetch_response *response,
                              const char *code)
{
    long status = response->status;

    if (s3_is_too_large(response, code)) {
        return TIER_REPLY_FAILED; /* others may be smaller */
    }
    if (s3_is_page(response)) {
        return TIER_REPLY_FAULT;
    }
    switch (status) {
    case 404:
        return code[0] == '\0' || strcmp(code, "NoSuchKey") == 0
                   ? TIER_REPLY_ABSENT
                   : TIER_REPLY_DENIED;
    case 409:
    case 412:
        return TIER_REPLY_EXISTS;
    case 0:
    case 408:
    case 429:
        return TIER_REPLY_FAULT;
    case 501:
        return TIER_REPLY_FAILED;
    default:
        return status >= 500  ? TIER_REPLY_FAULT
               : status < 300 ? TIER_REPLY_DONE
                              : TIER_REPLY_DENIED;
    }
}

/*
 * The same of a read.  A store that may not say that an object is absent, or
 * whose rules are about a part of the names, denies one and gives the next:
 * only several in a row are about the keys.
 */
static enum tier_reply s3_judge_read(const struct fetch_response *response,
                                     const char *code)
{
    enum tier_reply reply = tier_s3_judge(response, code);

    if (response->status != 403 || reply != TIER_REPLY_DENIED) {
        return reply;
    }
    return strcmp(code, "InvalidObjectState") == 0 /* it is in an archive */
               ? TIER_REPLY_FAILED
           : code[0] == '\0' || strcmp(code, "AccessDenied") == 0
               ? TIER_REPLY_FAULT
               : reply;
}

/* Ends the call after a failed answer, or has the keys read again. */
static void s3_refused(struct tier_call *call, enum s3_request what,
                       enum tier_reply reply, const char *text,
                       const struct fetch_response *response)
{
    char code[TIER_CODE_MAX], detail[300];

    tier_s3_code(code, response);
    tier_s3_take_status(call, response, code);
    if (what != REQUEST_PUT && what != REQUEST_COPY) {
        call->refusal = 0;
    }
    snprintf(detail, sizeof(detail), "%.200s%s%s", text,
             code[0] != '\0' ? " " : "", code);
    if (s3_renews_keys(call, what, reply, detail, code)) {
        return;
    }
    tier_call_end(call, reply, "%s%s", detail,
                  strcmp(code, "RequestTimeTooSkewed") == 0
                      ? ": this machine's clock is not the store's"
                  : s3_is_too_large(response, code)
                      ? ": the store, or a proxy before it, limits bodies"
                  : s3_is_page(response) || s3_is_page_head(response)
                      ? " with a page of HTML, which is not the store's"
                      : "");
}

/* When the object was stored, in seconds, or 0. */
static int64_t s3_stored_time(const struct fetch_response *response)
{
    time_t stored = curl_getdate(response->modified, NULL);

    return stored > 0 ? (int64_t)stored : 0;
}

static void s3_on_fetched(void *arg, const struct fetch_result *result)
{
    const struct fetch_response *response = result->response;
    struct tier_call *call = arg;
    char code[TIER_CODE_MAX];

    call->bytes += result->bytes;
    if (fetch_response_coded(response) || s3_is_page(response) ||
        (result->outcome != SOURCE_FOUND &&
         (response->status != 200 || response->bytes > 0))) {
        tier_s3_code(code, response);
        s3_refused(call, REQUEST_GET,
                   result->outcome == SOURCE_UNUSABLE ||
                           result->outcome == SOURCE_FAILED_HERE ||
                           (response->status == 200 && !s3_is_page(response))
                       ? TIER_REPLY_FAILED
                       : s3_judge_read(response, code),
                   result->detail, response);
        return;
    }
    call->status = response->status;
    memcpy(call->lines, response->meta, sizeof(call->lines));
    call->stored = s3_stored_time(response);
    tier_call_end(call, TIER_REPLY_DONE, "found");
}

static void s3_on_answer(struct tier_call *call, enum s3_request what,
                         const struct send_result *result)
{
    const struct fetch_response *response = result->response;
    enum tier_reply reply;
    char code[TIER_CODE_MAX];

    tier_s3_code(code, response);
    reply = tier_s3_judge(response, code);
    if (reply == TIER_REPLY_DONE && code[0] != '\0') {
        reply =
            TIER_REPLY_FAULT; /* a copy may fail after its status was sent */
    } else if (reply == TIER_REPLY_ABSENT && what == REQUEST_PUT) {
        reply = TIER_REPLY_DENIED; /* a PUT needs no object: no such bucket */
    }
    if (reply != TIER_REPLY_DONE && reply != TIER_REPLY_EXISTS) {
        s3_refused(call, what, reply, result->detail, response);
        return;
    }
    call->status = response->status;
    tier_call_end(call, reply, "%s",
                  reply == TIER_REPLY_DONE ? "stored" : "is there");
}

static void s3_on_stored(void *arg, const struct send_result *result)
{
    s3_on_answer(arg, REQUEST_PUT, result);
}

/* Has an object that was stored then, in seconds, lived half of its life? */
static bool s3_is_old(const struct tier_call *call, int64_t stored)
{
    int64_t life = (int64_t)time(NULL) - stored;

    return life < 0 || life > call->lifetime / 2;
}

/* The <LastModified> of a copy, in seconds, or 0. */
static int64_t s3_copied_at(const struct fetch_response *response)
{
    const char *p = strstr(response->body, "<LastModified>");
    struct tm tm = {0};

    return p != NULL && strptime(p + strlen("<LastModified>"),
                                 "%Y-%m-%dT%H:%M:%S", &tm) != NULL
               ? (int64_t)timegm(&tm)
               : 0;
}

/* Servers that keep objects in files may leave the time as it was; then the
 * object is stored anew. */
static void s3_on_copied(void *arg, const struct send_result *result)
{
    struct tier_call *call = arg;
    int64_t stored = s3_copied_at(result->response);

    if (result->response->status == 200 && stored != 0 &&
        s3_is_old(call, stored)) {
        tier_call_end(call, TIER_REPLY_ABSENT, "a copy is as old as before");
        return;
    }
    s3_on_answer(call, REQUEST_COPY, result);
}

/* Is the object ours, by its digest, and old? */
static bool s3_is_to_copy(const struct tier_call *call,
                          const struct fetch_response *response)
{
    struct tier_meta ours, meta;

    return tier_meta_read(&ours, call->lines) == NULL &&
           tier_meta_read(&meta, response->meta) == NULL &&
           strcmp(ours.sha256, meta.sha256) == 0 &&
           s3_is_old(call, s3_stored_time(response));
}

/* Returns false if there is an object; otherwise it has ended the call. */
static bool s3_head_fails(struct tier_call *call, enum s3_request what,
                          const struct send_result *result)
{
    const struct fetch_response *response = result->response;
    bool is_page = s3_is_page_head(response);

    if (response->status == 200 && !is_page) {
        return false;
    }
    s3_refused(call, what,
               is_page ? TIER_REPLY_FAULT : s3_judge_read(response, ""),
               result->detail, response);
    return true;
}

static void s3_on_looked(void *arg, const struct send_result *result)
{
    const struct fetch_response *response = result->response;
    struct tier_call *call = arg;

    if (s3_head_fails(call, REQUEST_LOOK, result)) {
        return;
    }
    if (!s3_is_to_copy(call, response)) {
        call->stored = s3_stored_time(response);
        tier_call_end(call, TIER_REPLY_EXISTS, "is young, or another one");
    } else if (s3_request_again(call, REQUEST_COPY) != 0) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", strerror(errno));
    }
}

static void s3_on_head(void *arg, const struct send_result *result)
{
    const struct fetch_response *response = result->response;
    struct tier_call *call = arg;

    if (s3_head_fails(call, REQUEST_HEAD, result)) {
        return;
    }
    call->status = response->status;
    memcpy(call->lines, response->meta, sizeof(call->lines));
    call->stored = s3_stored_time(response);
    call->length = response->length;
    tier_call_end(call, TIER_REPLY_DONE, "found");
}

/* requests ----------------------------------------------------------------- */

static void s3_fetch_ends(void *task)
{
    fetch_cancel(task);
}

static void s3_send_ends(void *task)
{
    send_cancel(task);
}

/* Takes url, which is NULL when out of memory. */
static int s3_fetch(struct tier_call *call, char *url, fetch_done_fn done)
{
    /* a fetch uses it at each try */
    static const struct header_config s3_no_body = {BUCKET_BODY_HEADER,
                                                    BUCKET_BODY_EMPTY};
    struct fetch_request request = {
        .url = url,
        .transport = &call->config->transport,
        .credentials = true,
        .extra = &s3_no_body,
        .nextra = call->config->transport.sigv4 != NULL,
        .limits = &tier_limits,
        .cache = &call->all->cache,
        .fd = call->fd,
        .max = call->max,
        .seconds = call->seconds,
    };

    call->renewals = call->config->transport.renewals;
    call->task = url != NULL ? fetch_start(call->tiers->fetcher, &request,
                                           done, call)
                             : NULL;
    call->task_cancel = s3_fetch_ends;
    free(url);
    errno = ENOMEM;
    return call->task != NULL ? 0 : -1;
}

static int s3_get(struct tier_call *call)
{
    return s3_fetch(call, s3_object_url(call), s3_on_fetched);
}

struct send *tier_s3_send(struct tier_call *call,
                          const struct tier_s3_request *request,
                          send_done_fn done, void *arg)
{
    struct send_request http_request = {
        .method = request->method,
        .transport = &call->config->transport,
        .extra = request->headers->list,
        .nextra = request->headers->n,
        .fd = request->fd,
        .from = request->from,
        .size = request->size,
        .connect = TIER_CONNECT,
        .seconds =
            TIER_WRITE +
            (unsigned)((request->waits_for + request->size) / TIER_WRITE_RATE),
        .stall = request->waits_for > 0 ? 0 : TIER_STALL,
    };
    char *base = s3_object_url(call), *url = NULL;
    struct send *started = NULL;

    if (base != NULL && asprintf(&url, "%s%s", base, request->query) >= 0) {
        http_request.url = url;
        started = send_start(call->tiers->fetcher, &http_request, done, arg);
        free(url);
    }
    free(base);
    errno = ENOMEM;
    return started;
}

static int s3_send_request(struct tier_call *call, const char *method,
                           struct s3_headers *headers, int fd, uint64_t size,
                           send_done_fn done)
{
    struct tier_s3_request request = {.method = method,
                                      .query = "",
                                      .headers = headers,
                                      .fd = fd,
                                      .size = size};

    call->renewals = call->config->transport.renewals;
    call->task = tier_s3_send(call, &request, done, call);
    call->task_cancel = s3_send_ends;
    return call->task != NULL ? 0 : -1;
}

void tier_s3_refuse(struct tier_call *call, enum tier_reply reply,
                    const char *text, const struct fetch_response *response)
{
    s3_refused(call, REQUEST_PUT, reply, text, response);
}

static int s3_put(struct tier_call *call)
{
    struct s3_headers headers = {.n = 0};

    if (call->size > call->config->part_size) {
        return tier_s3_put_parts(call);
    }
    s3_headers_add_type(&headers, call);
    s3_headers_add_body(&headers, call, call->body_sha256);
    if (!call->replace) {
        s3_headers_add_absent(&headers, call);
    }
    s3_headers_add_meta(&headers, call);
    return s3_send_request(call, "PUT", &headers, call->fd, call->size,
                           s3_on_stored);
}

/* A request without a body. */
static int s3_send_empty(struct tier_call *call, const char *method,
                         send_done_fn done)
{
    struct s3_headers headers = {.n = 0};

    s3_headers_add_body(&headers, call, BUCKET_BODY_EMPTY);
    return s3_send_request(call, method, &headers, -1, 0, done);
}

static int s3_look(struct tier_call *call)
{
    return s3_send_empty(call, "HEAD", s3_on_head);
}

/* Looks whether the object is ours and needs a copy.  The copy itself cannot
 * have that as a condition: libcurl 7.88 sorts x-amz-copy-source-if-match wrong
 * for the signature. */
static int s3_refresh(struct tier_call *call)
{
    return s3_send_empty(call, "HEAD", s3_on_looked);
}

/*
 * A copy of the object onto itself, which is as young as a new one.  Amazon
 * wants something to be changed by it, so the metadata are sent again.
 */
static int s3_copy(struct tier_call *call)
{
    char from[3 * TIER_NAME_MAX + 1024], name[3 * TIER_NAME_MAX + 1];
    const struct bucket_config *bucket = &call->config->bucket;
    struct s3_headers headers = {.n = 0};

    percent_encode_path(name, call->name);
    snprintf(from, sizeof(from), "/%s%.700s/%s", bucket->name,
             bucket->prefix != NULL ? bucket->prefix : "", name);
    s3_headers_add_type(&headers, call);
    s3_headers_add_copy(&headers, call, from);
    s3_headers_add_body(&headers, call, BUCKET_BODY_EMPTY);
    s3_headers_add_meta(&headers, call);
    return s3_send_request(call, "PUT", &headers, -1, 0, s3_on_copied);
}

static void s3_on_removed(void *arg, const struct send_result *result)
{
    const struct fetch_response *response = result->response;
    struct tier_call *call = arg;
    enum tier_reply reply;
    char code[TIER_CODE_MAX];

    tier_s3_code(code, response);
    reply = tier_s3_judge(response, code);
    if (response->status == 403 && strcmp(code, "AccessDenied") == 0) {
        reply = TIER_REPLY_FAILED; /* it may write all the same */
    }
    call->status = response->status;
    if (reply == TIER_REPLY_DONE || reply == TIER_REPLY_ABSENT) {
        tier_call_end(call, TIER_REPLY_DONE, "removed");
    } else {
        s3_refused(call, REQUEST_REMOVE, reply, result->detail, response);
    }
}

static int s3_take_away(struct tier_call *call)
{
    return s3_send_empty(call, "DELETE", s3_on_removed);
}

/* lists -------------------------------------------------------------------- */

/* Writes the prefix of the keys of a folder. */
static void s3_folder_prefix(char prefix[TIER_PAGE_TEXT],
                             const struct tier_call *call)
{
    size_t n;

    tier_bucket_prefix(prefix, TIER_PAGE_TEXT, call->config);
    n = strlen(prefix);
    snprintf(prefix + n, TIER_PAGE_TEXT - n, "%s/", call->name);
}

static void s3_on_named(void *arg, const struct tier_listed *listed)
{
    tier_names_add(arg, listed->name);
}

/* A page without a name that is not the last one says nothing. */
static void s3_read_list(struct tier_call *call)
{
    struct tier_page *page = calloc(1, sizeof(*page));
    char prefix[TIER_PAGE_TEXT], error[300];

    s3_folder_prefix(prefix, call);
    if (page == NULL) {
        tier_call_end(call, TIER_REPLY_FAILED, "out of memory");
    } else if (tier_page_read(page, call->fd, prefix, s3_on_named, call->names,
                              error, sizeof(error)) != 0) {
        tier_call_end(call, TIER_REPLY_FAILED, "%s", error);
    } else if (page->is_truncated && call->names->n == 0) {
        tier_call_end(call, TIER_REPLY_FAILED, "the list has an empty page");
    } else {
        tier_call_end(call, TIER_REPLY_DONE, "listed");
    }
    free(page);
}

static void s3_on_listed(void *arg, const struct fetch_result *result)
{
    const struct fetch_response *response = result->response;
    struct tier_call *call = arg;
    enum tier_reply reply = TIER_REPLY_FAILED;
    char code[TIER_CODE_MAX];

    call->bytes += result->bytes;
    call->status = response->status;
    if (result->outcome == SOURCE_FOUND) {
        s3_read_list(call);
        return;
    }
    tier_s3_code(code, response);
    if (response->status != 200 && result->outcome != SOURCE_FAILED_HERE) {
        reply = tier_s3_judge(response, code);
    }
    if (reply == TIER_REPLY_ABSENT) {
        reply = TIER_REPLY_DENIED; /* a list needs no object: no such bucket */
    } else if (reply == TIER_REPLY_DONE || reply == TIER_REPLY_EXISTS) {
        reply = TIER_REPLY_FAILED;
    }
    s3_refused(call, REQUEST_LIST, reply, result->detail, response);
}

static int s3_list(struct tier_call *call)
{
    char prefix[TIER_PAGE_TEXT];

    call->max = LIST_PAGE_MAX;
    s3_folder_prefix(prefix, call);
    return s3_fetch(call, tier_page_url(call->config, prefix, ""),
                    s3_on_listed);
}

static int s3_request_again(struct tier_call *call, enum s3_request what)
{
    switch (what) {
    case REQUEST_GET:
        return s3_get(call);
    case REQUEST_PUT:
        return s3_put(call);
    case REQUEST_LOOK:
        return s3_refresh(call);
    case REQUEST_HEAD:
        return s3_look(call);
    case REQUEST_LIST:
        return s3_list(call);
    case REQUEST_REMOVE:
        return s3_take_away(call);
    default:
        return s3_copy(call);
    }
}

static bool s3_receives(const struct tier_call *call)
{
    return call->task != NULL && call->task_cancel == s3_fetch_ends &&
           fetch_receives(call->task);
}

const struct tier_type tier_s3 = {true,    s3_get,     s3_look,
                                  s3_put,  s3_refresh, s3_take_away,
                                  s3_list, s3_receives};
