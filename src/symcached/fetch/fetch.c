/*
 * Copyright (C) the ngx_symcache authors
 *
 * A fetch makes up to limits.attempts tries, each of which begins with the
 * original URL and has up to FETCH_REDIRECTS + 1 hops.  Redirects are followed
 * here and not by libcurl, which would send headers such as X-Api-Key to other
 * hosts, and would allow a way back from https to http.
 */
#include "fetch.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "address_choice.h"
#include "base/address.h"
#include "base/clock.h"
#include "fetcher.h"
#include "metrics/metrics.h"
#include "base/event.h"
#include "base/origin.h"
#include "body_file.h"
#include "base/async_unlink.h"
#include "transport.h"
#include "classify.h"

#define FETCH_REDIRECTS 5
#define FETCH_STALL_BYTES 1024 /* a second */
#define FETCH_BACKOFF_MS 100
#define FETCH_ERROR_BODY 65536
#define FETCH_REDIRECT_BODY (16 * FETCH_ERROR_BODY)

/*
 * What a fetch waits for.  Only set_step() changes it.  When something cannot
 * be started, every step leads to finish().
 *
 *   fetch_start() --> FETCH_PAUSES <------------ another try
 *                          | try()                   |
 *         +----------> FETCH_DECIDES ----------------+--> finish()
 *         | on_spnego()  | | ^
 *   FETCH_WAITS_SPNEGO <-+ | +---- on_hop_done() --------+
 *                     FETCH_WAITS_ANSWER ----------------+
 *                          | on_header()                 |
 *                     FETCH_RECEIVES --------------------+
 */
enum fetch_step {
    FETCH_PAUSES,       /* for the time until the next try */
    FETCH_DECIDES,      /* for nothing: what follows is being decided */
    FETCH_WAITS_SPNEGO, /* for the process that asks Kerberos */
    FETCH_WAITS_ANSWER, /* for the first byte; libcurl has the request */
    FETCH_RECEIVES      /* for the end of the answer; libcurl has it */
};

/* why we have ended a request ourselves */
enum fetch_stop {
    FETCH_GOES_ON,
    FETCH_STOP_RESERVED, /* the address is a reserved one */
    FETCH_STOP_SOCKET,   /* this machine has none to give */
    FETCH_STOP_BODY,     /* body_file.problem says why */
    FETCH_STOP_PAGE,     /* we have read enough of an error page */
    FETCH_STOP_SILENCE,  /* nothing arrived in time, or too little */
    FETCH_STOP_LINES     /* header and trailers are too large */
};

struct fetch {
    struct fetcher *fetcher;
    struct fetch_request request;
    char *url; /* of request, without user info */
    CURL *easy;
    struct curl_slist *headers;
    struct fetcher_slot slot;
    struct spnego *spnego; /* asks Kerberos for this hop, or NULL */
    struct event *timer;   /* of the step */
    fetch_done_fn done;
    void *arg;
    uint64_t started;
    uint64_t received; /* bytes of all bodies */
    uint64_t watched;  /* bytes of this hop when its speed was last measured */
    unsigned tries;
    unsigned redirects;
    long status; /* of the hop, 0 = none yet */
    enum fetch_step step;
    bool cross_origin; /* was redirected to another origin */
    bool secure;       /* has used https */
    struct address_choice choice; /* of this hop */
    enum fetch_stop stop;
    struct host *host; /* that this hop asks, or NULL */
    struct host_wait wait_byte;
    bool probe;        /* this request decides whether the host works again */
    unsigned wait;     /* seconds until the host may be asked */
    struct body_file body_file;
    struct fetch_response response;
    char reason[256]; /* for stop */
    char error[CURL_ERROR_SIZE];
};

/* Is libcurl working on it? */
static bool is_running(const struct fetch *fetch)
{
    return fetch->step >= FETCH_WAITS_ANSWER;
}

/* The request of this hop has ended; detail is for the log. */
static void leave_host(struct fetch *fetch, enum breaker_end end,
                       const char *detail)
{
    if (fetch->host != NULL) {
        host_unheard(&fetch->wait_byte);
        host_end(fetch->host, fetch->request.limits, end, fetch->probe,
                 detail);
        fetch->host = NULL;
    }
}

void fetch_cancel(struct fetch *fetch)
{
    leave_host(fetch, BREAKER_NOTHING, "");
    if (fetch->spnego != NULL) {
        spnego_cancel(fetch->spnego);
    }
    if (fetch->easy != NULL) {
        if (is_running(fetch)) {
            fetcher_remove(&fetch->slot, fetch->easy);
        }
        curl_easy_cleanup(fetch->easy);
    }
    event_drop(fetch->timer);
    curl_slist_free_all(fetch->headers);
    body_file_free(&fetch->body_file);
    free(fetch->url);
    free(fetch);
}

static void finish(struct fetch *fetch, const struct classification *class)
{
    struct fetch_result result = {
        .outcome = class->outcome,
        .detail = class->detail,
        .bytes = fetch->received,
        .ms = clock_since(fetch->started),
        .retry_after = class->retry_after,
        .status = fetch->response.status,
        .errnum = class->errnum,
        .response = &fetch->response,
    };

    fetch->done(fetch->arg, &result);
    fetch_cancel(fetch);
}

static unsigned left_ms(const struct fetch *fetch)
{
    uint64_t limit = (uint64_t)fetch->request.seconds * 1000;
    uint64_t used = clock_since(fetch->started);

    return used < limit ? (unsigned)(limit - used) : 0;
}

/* ms is the time limit of the step; at its end fetch_on_timer() is called. */
static void set_step(struct fetch *fetch, enum fetch_step step, unsigned ms)
{
    struct timeval delay = {ms / 1000, ms % 1000 * 1000};

    fetch->step = step;
    if (step == FETCH_DECIDES || step == FETCH_WAITS_SPNEGO) {
        evtimer_del(fetch->timer);
    } else {
        evtimer_add(fetch->timer, &delay);
    }
}

/* From the first byte on, the limit is one of speed. */
static void watch(struct fetch *fetch)
{
    fetch->watched = fetch->response.bytes;
    set_step(fetch, FETCH_RECEIVES, fetch->request.limits->stall_time * 1000);
}

/* libcurl's callbacks ----------------------------------------------------- */

static void stops(struct fetch *fetch, enum fetch_stop stop,
                  const char *reason)
{
    fetch->stop = stop;
    snprintf(fetch->reason, sizeof(fetch->reason), "%s", reason);
}

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
    struct fetch *fetch = arg;

    if (!fetch_response_line(&fetch->response, line, size * n)) {
        stops(fetch, FETCH_STOP_LINES, "header and trailers too large");
        return 0;
    }
    if (fetch->step == FETCH_WAITS_ANSWER) {
        host_heard(&fetch->wait_byte);
        watch(fetch);
    }
    return size * n;
}

static bool is_rest(const struct fetch *fetch)
{
    return fetch->status == 206 && fetch->body_file.resume.asked;
}

/* Is the body the file or a part of it, and not an error page? */
static bool is_body(const struct fetch *fetch)
{
    return fetch->status == 200 || is_rest(fetch);
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct fetch *fetch = arg;
    size_t len = size * n;

    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &fetch->status);
    fetch->response.bytes += len;
    fetch->received += len;

    if (!is_body(fetch)) {
        fetch_response_body(&fetch->response, data, len);
        /* of a redirect libcurl tells the target at the end only */
        if (fetch->response.bytes > (fetch->status / 100 == 3
                                         ? FETCH_REDIRECT_BODY
                                         : FETCH_ERROR_BODY)) {
            fetch->stop = FETCH_STOP_PAGE;
            return 0;
        }
        return len;
    }
    if (fetch->probe && fetch->host != NULL) {
        host_receives(fetch->host, fetch->request.limits);
    }
    if (!body_file_receive(&fetch->body_file, &fetch->response, fetch->easy,
                           is_rest(fetch), data, len)) {
        fetch->stop = FETCH_STOP_BODY;
        return 0;
    }
    return len;
}

/* Does the request go to the source's own origin, and get its credentials? */
static bool gets_credentials(const struct fetch *fetch)
{
    return fetch->request.credentials && !fetch->cross_origin;
}

/* Why a reserved address is not reached. */
static const char *reserved(const struct transport_config *transport)
{
    return transport->internal == TRANSPORT_INTERNAL_ORIGIN
               ? "address is reserved, and not of the host that is configured"
               : "address is reserved; the source is not \"internal\"";
}

/* For a kept connection this was asked, by the same rule, see fetcher.h.  A
 * name may have several addresses: a reserved one is the reason only if there
 * was no other to try. */
static curl_socket_t on_connect(void *arg, curlsocktype purpose,
                                struct curl_sockaddr *address)
{
    struct fetch *fetch = arg;
    const struct transport_config *transport = fetch->request.transport;
    char text[128];
    int fd;

    /* a proxy's own address is in the configuration */
    if (transport->proxy == NULL && address_reserved(&address->addr) &&
        !transport_reaches_internal(transport, gets_credentials(fetch))) {
        if (!fetch->choice.connects) {
            stops(fetch, FETCH_STOP_RESERVED, reserved(transport));
        }
        fetcher_go_on(&fetch->slot);
        return CURL_SOCKET_BAD;
    }
    if (!address_choice_takes(&fetch->choice, fetch->host, address)) {
        fetcher_go_on(&fetch->slot);
        return CURL_SOCKET_BAD;
    }
    fetch->stop = FETCH_GOES_ON;
    /* What libcurl says of a kept connection that has died stays here, and
     * nothing that it says of the new one is added. */
    fetch->error[0] = '\0';
    fd = socket(address->family, address->socktype | SOCK_CLOEXEC,
                address->protocol);
    if (fd < 0 && errno != EAFNOSUPPORT) {
        /* to libcurl this is a server that cannot be reached */
        snprintf(text, sizeof(text), "socket: %s", strerror(errno));
        stops(fetch, FETCH_STOP_SOCKET, text);
    }
    return fd;
}

/* hops -------------------------------------------------------------------- */

/* Sets everything in the request that depends on the URL of this hop. */
static int fetch_address(struct fetch *fetch, const char *url)
{
    const struct fetch_request *request = &fetch->request;
    const struct transport_config *transport = request->transport;
    bool credentials = gets_credentials(fetch);
    struct curl_slist *list;

    list = curl_slist_append(NULL, request->takes_msfz
                                       ? "Accept: application/msfz0, */*"
                                       : "Accept: */*");
    if (!fetch->cross_origin) {
        list = transport_headers(request->extra, request->nextra, list);
    }
    if (credentials) {
        /* may be secrets: for the source's own origin only */
        list =
            transport_headers(transport->headers, transport->nheaders, list);
    }
    list = body_file_headers(&fetch->body_file, url, list);
    curl_slist_free_all(fetch->headers);
    fetch->headers = list;

    return list != NULL &&
                   transport_apply(transport, fetch->easy, "GET", url,
                                   &fetch->headers, credentials,
                                   fetch->tries > 1) == CURLE_OK
               ? 0
               : -1;
}

/* Returns NULL, or why the host is not asked. */
static const char *enter_host(struct fetch *fetch, const char *url)
{
    char origin[ORIGIN_MAX];

    fetch->wait = 0;
    if (origin_print(origin, sizeof(origin), url) != 0) {
        return "bad URL";
    }
    fetch->host = host_begin(fetcher_hosts(fetch->fetcher), origin,
                             fetch->request.limits, &fetch->probe,
                             fetch->reason, &fetch->wait);
    return fetch->host != NULL ? NULL : fetch->reason;
}

/* Returns NULL, or why the request cannot be sent. */
static const char *fetch_send(struct fetch *fetch)
{
    const struct limits_config *limits = fetch->request.limits;
    CURL *easy = fetch->easy;
    unsigned left = left_ms(fetch);

    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 1));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)limits->connect_time);
    if (fetcher_add(fetch->fetcher, easy, &fetch->slot,
                    fetch->request.transport, gets_credentials(fetch)) != 0) {
        return "out of memory";
    }
    host_waits(fetch->host, limits, &fetch->wait_byte);
    set_step(fetch, FETCH_WAITS_ANSWER, limits->first_byte_time * 1000);
    return NULL;
}

static void on_spnego(void *arg, const struct spnego_result *result);

/* Returns NULL, or why the token cannot be asked for. */
static const char *wait_for_spnego(struct fetch *fetch, const char *url)
{
    unsigned limit = fetch->request.limits->connect_time * 1000;
    unsigned left = left_ms(fetch);
    char host[ORIGIN_MAX];

    if (origin_host(host, sizeof(host), url) == 0) {
        fetch->spnego =
            spnego_start(fetcher_base(fetch->fetcher), host,
                         left < limit ? left : limit, on_spnego, fetch);
    }
    if (fetch->spnego == NULL) {
        return "out of memory";
    }
    set_step(fetch, FETCH_WAITS_SPNEGO, 0);
    return NULL;
}

static int authorize(struct fetch *fetch, char *value)
{
    struct header_config header = {"Authorization", value};

    fetch->headers = transport_headers(&header, 1, fetch->headers);
    return fetch->headers != NULL &&
                   curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER,
                                    fetch->headers) == CURLE_OK
               ? 0
               : -1;
}

/* Begins a hop.  Returns NULL, or why not. */
static const char *hop(struct fetch *fetch, const char *url)
{
    const struct transport_config *transport = fetch->request.transport;
    const char *refused;

    fetch->status = 0;
    fetch_response_clear(&fetch->response);
    fetch->stop = FETCH_GOES_ON;
    fetch->choice = (struct address_choice){false, false};
    fetch->body_file.problem = BODY_FILE_GOOD;
    fetch->error[0] = '\0';

    if (transport->proxy != NULL && origin_reserved(url) &&
        !transport_reaches_internal(transport, gets_credentials(fetch))) {
        return reserved(transport);
    }
    refused = enter_host(fetch, url);
    if (refused != NULL) {
        return refused;
    }
    if (fetch_address(fetch, url) != 0) {
        return "out of memory";
    }
    return transport->auth == TRANSPORT_NEGOTIATE && gets_credentials(fetch)
               ? wait_for_spnego(fetch, url)
               : fetch_send(fetch);
}

/* Begins a try.  Returns NULL, or why not. */
static const char *try(struct fetch *fetch)
{
    set_step(fetch, FETCH_DECIDES, 0);
    fetch->tries++;
    fetch->redirects = 0;
    fetch->response.moved_type[0] = '\0';
    fetch->cross_origin = false;
    fetch->secure = strncmp(fetch->url, "https:", 6) == 0;

    /* Without a validator, the bytes of the former try are of no use. */
    if (fetch->body_file.resume.validator[0] == '\0') {
        fetch->body_file.resume.have = 0;
    }
    return hop(fetch, fetch->url);
}

/* Follows a redirect to target.  Returns NULL, or why not. */
static const char *follow_redirect(struct fetch *fetch, const char *target)
{
    const char *refused;
    char *url;

    refused = classify_redirect(fetch->url, target, fetch->secure);
    if (refused != NULL) {
        return refused;
    }
    if (++fetch->redirects > FETCH_REDIRECTS) {
        return "too many redirects";
    }

    url = origin_plain(target);
    if (url == NULL) {
        return "redirect to a bad URL";
    }
    fetch->secure |= strncmp(target, "https:", 6) == 0;
    fetch->cross_origin |= !origin_same(fetch->url, target);
    refused = hop(fetch, url);
    free(url);
    return refused;
}

/* the end of a hop -------------------------------------------------------- */

/* Classifies a request without an answer, or with an incomplete one. */
static void judge_error(struct fetch *fetch, CURLcode code,
                        struct classification *class)
{
    switch (fetch->stop) {
    case FETCH_GOES_ON:
    case FETCH_STOP_PAGE:
        classify_error(class, code, fetch->error, fetch->status);
        classify_connection(class, code, fetch->easy);
        if (code == CURLE_OPERATION_TIMEDOUT && left_ms(fetch) == 0) {
            classify_say(class, SOURCE_FAILED, false,
                         "took longer than download_time");
            class->fault = fetch->status == 0;
        }
        break;
    case FETCH_STOP_BODY:
        body_file_judge(&fetch->body_file, class);
        break;
    case FETCH_STOP_SILENCE:
        classify_error(class, CURLE_OPERATION_TIMEDOUT, fetch->reason, 0);
        break;
    case FETCH_STOP_LINES:
        classify_error(class, code, fetch->reason, fetch->status);
        break;
    case FETCH_STOP_RESERVED:
        classify_say(class, SOURCE_FAILED, false, fetch->reason);
        break;
    case FETCH_STOP_SOCKET:
        classify_say(class, SOURCE_FAILED_HERE, true, fetch->reason);
        break;
    }
}

/* Is the answer complete, or complete enough for us to have ended it? */
static bool is_complete_answer(const struct fetch *fetch, CURLcode code)
{
    return fetch->status >= 200 && fetch->response.whole &&
           (code == CURLE_OK || fetch->stop == FETCH_STOP_PAGE);
}

/* Classifies the end of a hop.  Returns true if another hop has begun. */
static bool judge(struct fetch *fetch, CURLcode code,
                  struct classification *class)
{
    const char *refused;
    char *target = NULL;

    fetch_response_end(&fetch->response, fetch->easy);
    fetch->status = fetch->response.status;
    fetch->response.moved = fetch->redirects > 0;

    if (!is_complete_answer(fetch, code)) {
        judge_error(fetch, code, class);
        /* More of the answer was to follow, so its header is not believed
         * either. */
        fetch_response_clear(&fetch->response);
        return false;
    }
    if (is_body(fetch)) {
        body_file_finish(&fetch->body_file, &fetch->response, is_rest(fetch),
                         class);
        return false;
    }

    curl_easy_getinfo(fetch->easy, CURLINFO_REDIRECT_URL, &target);
    if (fetch->status / 100 != 3 || target == NULL) {
        classify_status(class, fetch->status, fetch->response.retry_after);
        if (fetch->response.again) {
            classify_again(class);
        }
        return false;
    }

    snprintf(fetch->response.moved_type, sizeof(fetch->response.moved_type),
             "%s", fetch->response.type);
    leave_host(fetch, BREAKER_GOOD, "");
    refused = follow_redirect(fetch, target);
    if (refused != NULL) {
        classify_say(class, SOURCE_FAILED, false, refused);
        class->retry_after = fetch->wait;
    }
    return refused == NULL;
}

/*
 * The server did not send the rest of an interrupted body.  That is not a
 * failure of its own: the whole body is asked for again.
 */
static bool restarts(struct fetch *fetch, struct classification *class)
{
    if (!fetch->body_file.resume.asked ||
        (fetch->status != 416 &&
         fetch->body_file.problem != BODY_FILE_RANGE)) {
        return false;
    }

    resume_drop(&fetch->body_file.resume);
    fetch->body_file.resume.asked = false;
    fetch->tries--;
    class->transient = true;
    return true;
}

/* Tells the host's breaker what its answer means. */
static void tell_host(struct fetch *fetch, const struct classification *class)
{
    enum breaker_end end = BREAKER_NOTHING;

    if (fetch->request.busy_file && fetch->response.status == 503) {
        end = BREAKER_GOOD;
    } else if (class->fault) {
        end = BREAKER_FAULT;
    } else if (fetch->host != NULL && class->retry_after > 0) {
        host_wants_pause(fetch->host, class->retry_after);
    } else if (fetch->status != 0) {
        end = BREAKER_GOOD;
    }
    leave_host(fetch, end, class->detail);
}

/* There are no other addresses than the avoided ones: sends the request of this
 * hop to these.  Returns NULL, or why it cannot be sent. */
static const char *send_to_avoided(struct fetch *fetch)
{
    host_unheard(&fetch->wait_byte);
    fetch->stop = FETCH_GOES_ON;
    fetch->error[0] = '\0';
    return fetch_send(fetch);
}

static unsigned fetch_pause(const struct fetch *fetch)
{
    unsigned pause = FETCH_BACKOFF_MS << fetch->tries, more;

    evutil_secure_rng_get_bytes(&more, sizeof(more));
    return pause + more % pause;
}

static void on_hop_done(void *arg, CURLcode code)
{
    struct fetch *fetch = arg;
    struct classification class = {0};
    const char *failed = NULL;
    unsigned pause;

    set_step(fetch, FETCH_DECIDES, 0);
    if (address_choice_is_none(&fetch->choice, fetch->host, code)) {
        failed = send_to_avoided(fetch);
        if (failed == NULL) {
            return;
        }
        classify_say(&class, SOURCE_FAILED, false, failed);
    } else if (judge(fetch, code, &class)) {
        return;
    }
    if (fetch->status == 0) {
        address_choice_failed(&fetch->choice, fetch->host, fetch->easy, code,
                              class.fault);
    }
    tell_host(fetch, &class);

    if (restarts(fetch, &class)) {
        metrics_add(METRIC_RESUME_REFUSED, 1);
    }
    if (body_file_awaits_space(&fetch->body_file)) {
        fetch->tries--; /* the source is not at fault */
    }
    pause = class.transient ? fetch_pause(fetch) : 0;
    if (class.transient && fetch->tries < fetch->request.limits->attempts &&
        left_ms(fetch) > pause) {
        metrics_add(METRIC_FETCH_RETRY, 1);
        set_step(fetch, FETCH_PAUSES, pause);
        return;
    }
    if (class.outcome == SOURCE_FOUND && is_rest(fetch)) {
        metrics_add(METRIC_RESUME_DONE, 1);
    }

    finish(fetch, &class);
}

/* The time limit for the first byte, or for some more bytes, is over. */
static void on_silence(struct fetch *fetch)
{
    const struct limits_config *limits = fetch->request.limits;
    uint64_t least = (uint64_t)limits->stall_time * FETCH_STALL_BYTES;
    char text[64] = "no answer in time";

    if (fetch->step == FETCH_RECEIVES) {
        if (fetch->response.bytes - fetch->watched >= least) {
            watch(fetch);
            return;
        }
        snprintf(text, sizeof(text), "stalled: less than 1 KiB/s for %u s",
                 limits->stall_time);
    }
    stops(fetch, FETCH_STOP_SILENCE, text);
    /* A silent connection of HTTP/2 would be kept and used for other
     * requests. */
    curl_easy_setopt(fetch->easy, CURLOPT_FORBID_REUSE, 1L);
    fetcher_remove(&fetch->slot, fetch->easy);
    on_hop_done(fetch, CURLE_OPERATION_TIMEDOUT);
}

static void on_spnego(void *arg, const struct spnego_result *result)
{
    struct fetch *fetch = arg;
    struct classification class;
    const char *failed = result->detail;

    fetch->spnego = NULL;
    set_step(fetch, FETCH_DECIDES, 0);
    if (result->header != NULL) {
        failed = authorize(fetch, result->header) == 0 ? fetch_send(fetch)
                                                       : "out of memory";
    }
    if (failed != NULL) {
        /* a refusal concerns us only; others shall not wait for silence */
        classify_say(&class, SOURCE_FAILED, false, failed);
        class.fault = result->timed_out;
        tell_host(fetch, &class);
        finish(fetch, &class);
    }
}

static void fetch_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct fetch *fetch = arg;
    struct classification class;
    const char *failed;

    if (is_running(fetch)) {
        on_silence(fetch);
        return;
    }
    if (body_file_awaits_space(&fetch->body_file) && left_ms(fetch) > 0) {
        set_step(fetch, FETCH_PAUSES, ASYNC_UNLINK_MS);
        return;
    }

    failed = try(fetch);
    if (failed != NULL) {
        classify_say(&class, SOURCE_FAILED, false, failed);
        class.retry_after = fetch->wait;
        finish(fetch, &class);
    }
}

/* start ------------------------------------------------------------------- */

static void set_options(struct fetch *fetch)
{
    CURL *easy = fetch->easy;

    transport_prepare(easy);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &fetch->slot);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->error);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_connect);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
}

struct fetch *fetch_start(struct fetcher *fetcher,
                          const struct fetch_request *request,
                          fetch_done_fn done, void *arg)
{
    struct fetch *fetch = calloc(1, sizeof(*fetch));

    if (fetch == NULL) {
        return NULL;
    }

    fetch->fetcher = fetcher;
    fetch->request = *request;
    fetch->body_file = (struct body_file){
        .fd = request->fd, .open = request->open, .open_arg = arg,
        .max = request->max, .cache = request->cache,
        .may_be_empty = request->may_be_empty,
    };
    fetch->done = done;
    fetch->arg = arg;
    fetch->slot = (struct fetcher_slot){.done = on_hop_done, .arg = fetch};
    fetch->started = clock_ms();
    fetch->easy = curl_easy_init();
    fetch->timer = evtimer_new(fetcher_base(fetcher), fetch_on_timer, fetch);

    fetch->url = origin_plain(request->url);
    if (fetch->easy == NULL || fetch->timer == NULL || fetch->url == NULL) {
        fetch_cancel(fetch);
        return NULL;
    }

    set_options(fetch);
    set_step(fetch, FETCH_PAUSES, 0);
    return fetch;
}

bool fetch_receives(const struct fetch *fetch)
{
    return fetch->step == FETCH_RECEIVES && fetch->response.bytes > 0 &&
           is_body(fetch);
}

bool fetch_is_silent(const struct fetch *fetch)
{
    return fetch->step == FETCH_WAITS_ANSWER && fetch->wait_byte.silent;
}
