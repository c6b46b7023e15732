/*
 * Copyright (C) the ngx_symcache authors
 *
 * A fetch is up to limits.attempts tries, each from the original URL; a try is
 * up to FETCH_REDIRECTS + 1 hops.  Redirects are followed here and not by
 * libcurl, which would carry own headers such as X-Api-Key to other hosts and
 * would let http, https, http pass.
 */
#include "fetch.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "clock.h"
#include "fetcher.h"
#include "host.h"
#include "metrics.h"
#include "origin.h"
#include "receipt.h"
#include "ticket.h"
#include "verdict.h"

#define FETCH_REDIRECTS 5
#define FETCH_STALL_BYTES 1024 /* a second */
#define FETCH_BACKOFF_MS 100
#define FETCH_ERROR_BODY 65536
#define FETCH_RESERVED "address is reserved; the source is not \"internal\""

/* why we ended a request ourselves */
enum fetch_stop {
    FETCH_GOES_ON,
    FETCH_STOP_RESERVED,  /* the address */
    FETCH_STOP_BODY,      /* see its receipt */
    FETCH_STOP_NO_ANSWER, /* within limits.first_byte_time */
    FETCH_STOP_STALL      /* for limits.stall_time */
};

struct fetch {
    struct fetcher *fetcher;
    struct fetch_request request;
    char *url; /* of request, without user info */
    CURL *easy;
    struct curl_slist *headers;
    struct fetcher_slot slot;
    struct ticket *ticket; /* that the hop's request waits for */
    struct event *timer;   /* first byte of a hop; pause before a try */
    fetch_done_fn done;
    void *arg;
    uint64_t started;
    uint64_t received; /* of all bodies */
    uint64_t bytes;    /* of the hop's body */
    uint64_t watched;  /* of them, when the speed was last looked at */
    unsigned tries;
    unsigned redirects;
    long status; /* of the hop, 0 = none yet */
    bool running;
    bool answers; /* the first byte has come */
    bool away;    /* redirected to another origin */
    bool secure;  /* has been on https */
    enum fetch_stop stop;
    struct host *host; /* that the hop asks */
    bool probe;        /* whether the host works */
    unsigned wait;     /* seconds until the host may be asked */
    struct receipt receipt;
    struct fetch_answer answer;
    char reason[256]; /* for stop */
    char error[CURL_ERROR_SIZE];
};

/* The hop's request ended; detail is for the log. */
static void fetch_leave_host(struct fetch *fetch, enum breaker_end end,
                             const char *detail)
{
    if (fetch->host != NULL) {
        host_end(fetch->host, &fetch->request.config->limits, end,
                 fetch->probe, detail);
        fetch->host = NULL;
    }
}

static void fetch_free(struct fetch *fetch)
{
    fetch_leave_host(fetch, BREAKER_NOTHING, "");
    if (fetch->ticket != NULL) {
        ticket_cancel(fetch->ticket);
    }
    if (fetch->easy != NULL) {
        if (fetch->running) {
            fetcher_remove(fetch->fetcher, fetch->easy);
        }
        curl_easy_cleanup(fetch->easy);
    }
    if (fetch->timer != NULL) {
        event_free(fetch->timer);
    }
    curl_slist_free_all(fetch->headers);
    resume_drop(&fetch->receipt.resume);
    free(fetch->url);
    free(fetch);
}

static void fetch_finish(struct fetch *fetch, const struct verdict *verdict)
{
    struct fetch_result result = {
        verdict->outcome,     verdict->detail,
        fetch->received,      clock_since(fetch->started),
        verdict->retry_after, &fetch->answer};

    fetch->done(fetch->arg, &result);
    fetch_free(fetch);
}

static unsigned fetch_left_ms(const struct fetch *fetch)
{
    uint64_t limit = (uint64_t)fetch->request.seconds * 1000;
    uint64_t used = clock_since(fetch->started);

    return used < limit ? (unsigned)(limit - used) : 0;
}

static void fetch_arm(struct fetch *fetch, unsigned ms)
{
    struct timeval delay = {ms / 1000, ms % 1000 * 1000};

    evtimer_add(fetch->timer, &delay);
}

/* From the first byte on it is about speed. */
static void fetch_watch(struct fetch *fetch)
{
    fetch->watched = fetch->bytes;
    fetch_arm(fetch, fetch->request.config->limits.stall_time * 1000);
}

/* libcurl's callbacks ----------------------------------------------------- */

static size_t fetch_on_header(char *line, size_t size, size_t n, void *arg)
{
    struct fetch *fetch = arg;
    size_t len = size * n;

    fetch_answer_line(&fetch->answer, line, len);
    resume_line(&fetch->receipt.resume, line, len);

    if (!fetch->answers) {
        fetch->answers = true;
        fetch_watch(fetch);
    }
    return len;
}

static void fetch_stops(struct fetch *fetch, enum fetch_stop stop,
                        const char *reason)
{
    fetch->stop = stop;
    snprintf(fetch->reason, sizeof(fetch->reason), "%s", reason);
}

static bool fetch_is_rest(const struct fetch *fetch)
{
    return fetch->status == 206 && fetch->receipt.resume.asked;
}

/* The first bytes of a body.  Returns false if no more is wanted. */
static bool fetch_body_begins(struct fetch *fetch)
{
    curl_off_t length = -1;
    char *url = NULL;

    if (fetch_is_rest(fetch)) {
        return receipt_continue(&fetch->receipt);
    }
    curl_easy_getinfo(fetch->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T,
                      &length);
    curl_easy_getinfo(fetch->easy, CURLINFO_EFFECTIVE_URL, &url);
    return receipt_begin(&fetch->receipt, url, length);
}

static size_t fetch_on_body(char *data, size_t size, size_t n, void *arg)
{
    struct fetch *fetch = arg;
    bool begins = fetch->bytes == 0;
    size_t len = size * n;

    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &fetch->status);
    fetch->bytes += len;
    fetch->received += len;

    if (fetch->status != 200 && !fetch_is_rest(fetch)) {
        fetch_answer_body(&fetch->answer, data, len);
        /* nobody wants to read it, and it may be endless */
        return fetch->bytes > FETCH_ERROR_BODY ? 0 : len;
    }
    if ((begins && !fetch_body_begins(fetch)) ||
        !receipt_write(&fetch->receipt, data, len)) {
        fetch->stop = FETCH_STOP_BODY;
        return 0;
    }
    return len;
}

static curl_socket_t fetch_on_connect(void *arg, curlsocktype purpose,
                                      struct curl_sockaddr *address)
{
    struct fetch *fetch = arg;
    const struct transport_config *transport = fetch->request.transport;

    (void)purpose;

    /* a proxy's own address is in the configuration */
    if (!transport->internal && transport->proxy == NULL &&
        address_reserved(&address->addr)) {
        fetch_stops(fetch, FETCH_STOP_RESERVED, FETCH_RESERVED);
        return CURL_SOCKET_BAD;
    }

    return socket(address->family, address->socktype | SOCK_CLOEXEC,
                  address->protocol);
}

/* hops -------------------------------------------------------------------- */

/* May the source's credentials be sent? */
static bool fetch_is_home(const struct fetch *fetch)
{
    return fetch->request.credentials && !fetch->away;
}

/* Everything of the request that depends on where this hop goes. */
static int fetch_address(struct fetch *fetch, const char *url)
{
    const struct fetch_request *request = &fetch->request;
    const struct transport_config *transport = request->transport;
    bool home = fetch_is_home(fetch);
    CURL *easy = fetch->easy;
    struct curl_slist *list;

    list = curl_slist_append(NULL, "Accept: */*");
    if (!fetch->away) {
        list = transport_headers(request->extra, request->nextra, list);
    }
    if (home) {
        /* may be secrets: for the source's own origin only */
        list =
            transport_headers(transport->headers, transport->nheaders, list);
    }
    list = resume_headers(&fetch->receipt.resume, url, list);
    curl_slist_free_all(fetch->headers);
    fetch->headers = list;

    return list != NULL &&
                   curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list) ==
                       CURLE_OK &&
                   curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
                   transport_apply(transport, easy, url, home) == CURLE_OK
               ? 0
               : -1;
}

/* Returns NULL, or why not. */
static const char *fetch_enter_host(struct fetch *fetch, const char *url)
{
    char origin[ORIGIN_MAX];

    fetch->wait = 0;
    if (origin_print(origin, sizeof(origin), url) != 0) {
        return "bad URL";
    }
    fetch->host = host_begin(fetcher_hosts(fetch->fetcher), origin,
                             &fetch->request.config->limits, &fetch->probe,
                             fetch->reason, &fetch->wait);
    return fetch->host != NULL ? NULL : fetch->reason;
}

/* Returns NULL, or why not. */
static const char *fetch_send(struct fetch *fetch)
{
    const struct limits_config *limits = &fetch->request.config->limits;
    CURL *easy = fetch->easy;
    unsigned left = fetch_left_ms(fetch);

    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 1));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)limits->connect_time);
    fetch_arm(fetch, limits->first_byte_time * 1000);

    if (fetcher_add(fetch->fetcher, easy) != 0) {
        return "out of memory";
    }
    fetch->running = true;
    return NULL;
}

static void fetch_on_ticket(void *arg, const struct ticket_result *result);

/* Returns NULL, or why not. */
static const char *fetch_wait_for_ticket(struct fetch *fetch, const char *url)
{
    unsigned limit = fetch->request.config->limits.connect_time * 1000;
    unsigned left = fetch_left_ms(fetch);
    char host[ORIGIN_MAX];

    if (origin_host(host, sizeof(host), url) == 0) {
        fetch->ticket =
            ticket_start(fetcher_base(fetch->fetcher), host,
                         left < limit ? left : limit, fetch_on_ticket, fetch);
    }
    return fetch->ticket != NULL ? NULL : "out of memory";
}

static int fetch_authorize(struct fetch *fetch, char *value)
{
    struct header_config header = {"Authorization", value};

    fetch->headers = transport_headers(&header, 1, fetch->headers);
    return fetch->headers != NULL &&
                   curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER,
                                    fetch->headers) == CURLE_OK
               ? 0
               : -1;
}

/* Returns NULL, or why not. */
static const char *fetch_hop(struct fetch *fetch, const char *url)
{
    const struct transport_config *transport = fetch->request.transport;
    const char *refused;

    fetch->status = 0;
    fetch_answer_clear(&fetch->answer);
    fetch->bytes = 0;
    fetch->answers = false;
    fetch->stop = FETCH_GOES_ON;
    fetch->receipt.problem = RECEIPT_GOOD;
    fetch->error[0] = '\0';

    if (transport->proxy != NULL && !transport->internal &&
        origin_reserved(url)) {
        return FETCH_RESERVED;
    }
    refused = fetch_enter_host(fetch, url);
    if (refused != NULL) {
        return refused;
    }
    if (fetch_address(fetch, url) != 0) {
        return "out of memory";
    }
    return transport->auth == TRANSPORT_NEGOTIATE && fetch_is_home(fetch)
               ? fetch_wait_for_ticket(fetch, url)
               : fetch_send(fetch);
}

/* Returns NULL, or why not. */
static const char *fetch_try(struct fetch *fetch)
{
    fetch->tries++;
    fetch->redirects = 0;
    fetch->answer.moved_type[0] = '\0';
    fetch->away = false;
    fetch->secure = strncmp(fetch->url, "https:", 6) == 0;

    /* without a validator nothing of the former try can be used */
    if (fetch->receipt.resume.validator[0] == '\0') {
        fetch->receipt.resume.have = 0;
    }
    return fetch_hop(fetch, fetch->url);
}

/* Goes on at target.  Returns NULL, or why not. */
static const char *fetch_redirect(struct fetch *fetch, const char *target)
{
    const char *refused;
    char *url;

    refused = verdict_redirect(fetch->url, target, fetch->secure);
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
    fetch->away |= !origin_same(fetch->url, target);
    refused = fetch_hop(fetch, url);
    free(url);
    return refused;
}

/* the end of a hop -------------------------------------------------------- */

/* A request that came to no answer, or not to its end. */
static void fetch_judge_error(struct fetch *fetch, CURLcode code,
                              struct verdict *verdict)
{
    switch (fetch->stop) {
    case FETCH_GOES_ON:
        verdict_error(verdict, code, fetch->error);
        if (code == CURLE_FILESIZE_EXCEEDED) {
            fetch->receipt.problem = RECEIPT_TOO_LARGE;
            receipt_judge(&fetch->receipt, verdict);
        } else if (code == CURLE_OPERATION_TIMEDOUT &&
                   fetch_left_ms(fetch) == 0) {
            verdict_say(verdict, SOURCE_FAILED, false,
                        "took longer than download_time");
            verdict->fault = fetch->status == 0;
        }
        break;
    case FETCH_STOP_BODY:
        receipt_judge(&fetch->receipt, verdict);
        break;
    case FETCH_STOP_NO_ANSWER:
    case FETCH_STOP_STALL:
        verdict_error(verdict, CURLE_OPERATION_TIMEDOUT, fetch->reason);
        break;
    case FETCH_STOP_RESERVED:
        verdict_say(verdict, SOURCE_FAILED, false, fetch->reason);
        break;
    }
}

/* A whole body, with 200 or in parts. */
static void fetch_judge_body(struct fetch *fetch, struct verdict *verdict)
{
    if (fetch_is_rest(fetch) &&
        fetch->receipt.resume.have != fetch->receipt.resume.total) {
        /* nothing came at all, or it would have been looked at */
        verdict_say(verdict, SOURCE_FAILED, true, "206, empty body");
    } else if (fetch->receipt.resume.have == 0) {
        verdict_say(verdict, SOURCE_UNUSABLE, false, "200, empty body");
    } else {
        verdict_say(verdict, SOURCE_FOUND, false, "200");
    }
}

/* Returns true if another hop has begun. */
static bool fetch_judge(struct fetch *fetch, CURLcode code,
                        struct verdict *verdict)
{
    const char *refused;
    bool body;
    char *target = NULL;

    fetch_answer_end(&fetch->answer, fetch->easy);
    fetch->status = fetch->answer.status;
    fetch->answer.moved = fetch->redirects > 0;

    body = fetch->status == 200 || fetch_is_rest(fetch);
    if (fetch->status == 0 || fetch->stop == FETCH_STOP_NO_ANSWER ||
        fetch->stop == FETCH_STOP_STALL || (body && code != CURLE_OK)) {
        fetch_judge_error(fetch, code, verdict);
        return false;
    }
    if (body) {
        fetch_judge_body(fetch, verdict);
        return false;
    }

    curl_easy_getinfo(fetch->easy, CURLINFO_REDIRECT_URL, &target);
    if (fetch->status / 100 != 3 || target == NULL) {
        verdict_status(verdict, fetch->status, fetch->answer.retry_after);
        if (fetch->answer.again) {
            verdict_again(verdict);
        }
        return false;
    }

    snprintf(fetch->answer.moved_type, sizeof(fetch->answer.moved_type), "%s",
             fetch->answer.type);
    fetch_leave_host(fetch, BREAKER_GOOD, "");
    refused = fetch_redirect(fetch, target);
    if (refused != NULL) {
        verdict_say(verdict, SOURCE_FAILED, false, refused);
        verdict->retry_after = fetch->wait;
    }
    return refused == NULL;
}

/*
 * The server did not give the rest of a body that broke off: not a failure of
 * its own, and all is asked for afresh.
 */
static bool fetch_restarts(struct fetch *fetch, struct verdict *verdict)
{
    if (!fetch->receipt.resume.asked ||
        (fetch->status != 416 && fetch->receipt.problem != RECEIPT_RANGE &&
         !(fetch->status == 206 && fetch->bytes == 0))) {
        return false;
    }

    resume_drop(&fetch->receipt.resume);
    fetch->receipt.resume.asked = false;
    fetch->tries--;
    verdict->transient = true;
    return true;
}

/* Tells the host's breaker what its answer means. */
static void fetch_tell_host(struct fetch *fetch, const struct verdict *verdict)
{
    enum breaker_end end = BREAKER_NOTHING;

    if (fetch->request.busy_file && fetch->status == 503) {
        end = BREAKER_GOOD;
    } else if (verdict->fault) {
        end = BREAKER_FAULT;
    } else if (fetch->host != NULL && verdict->retry_after > 0) {
        host_wants_pause(fetch->host, verdict->retry_after);
    } else if (fetch->status != 0) {
        end = BREAKER_GOOD;
    }
    fetch_leave_host(fetch, end, verdict->detail);
}

static unsigned fetch_pause(const struct fetch *fetch)
{
    unsigned pause = FETCH_BACKOFF_MS << fetch->tries, more;

    evutil_secure_rng_get_bytes(&more, sizeof(more));
    return pause + more % pause;
}

static void fetch_on_hop_done(void *arg, CURLcode code)
{
    struct fetch *fetch = arg;
    struct verdict verdict = {0};
    unsigned pause;

    fetch->running = false;
    evtimer_del(fetch->timer);

    if (fetch_judge(fetch, code, &verdict)) {
        return;
    }
    fetch_tell_host(fetch, &verdict);

    if (fetch_restarts(fetch, &verdict)) {
        metrics_add(METRIC_RESUME_REFUSED, 1);
    }
    pause = fetch_pause(fetch);
    if (verdict.transient &&
        fetch->tries < fetch->request.config->limits.attempts &&
        fetch_left_ms(fetch) > pause) {
        metrics_add(METRIC_FETCH_RETRY, 1);
        fetch_arm(fetch, pause);
        return;
    }
    if (verdict.outcome == SOURCE_FOUND && fetch_is_rest(fetch)) {
        metrics_add(METRIC_RESUME_DONE, 1);
    }

    fetch_finish(fetch, &verdict);
}

/* The time for the first byte, or for some bytes more, is over. */
static void fetch_on_silence(struct fetch *fetch)
{
    const struct limits_config *limits = &fetch->request.config->limits;
    uint64_t least = (uint64_t)limits->stall_time * FETCH_STALL_BYTES;
    char text[64];

    if (fetch->answers && fetch->bytes - fetch->watched >= least) {
        fetch_watch(fetch);
        return;
    }

    if (fetch->answers) {
        snprintf(text, sizeof(text), "stalled: less than 1 KiB/s for %u s",
                 limits->stall_time);
        fetch_stops(fetch, FETCH_STOP_STALL, text);
    } else {
        fetch_stops(fetch, FETCH_STOP_NO_ANSWER, "no answer in time");
    }
    fetcher_remove(fetch->fetcher, fetch->easy);
    fetch_on_hop_done(fetch, CURLE_OPERATION_TIMEDOUT);
}

static void fetch_on_ticket(void *arg, const struct ticket_result *result)
{
    struct fetch *fetch = arg;
    struct verdict verdict;
    const char *failed = result->detail;

    fetch->ticket = NULL;
    if (result->header != NULL) {
        failed = fetch_authorize(fetch, result->header) == 0
                     ? fetch_send(fetch)
                     : "out of memory";
    }
    if (failed != NULL) {
        /* a refusal is about us; in vain others need not wait, too */
        verdict_say(&verdict, SOURCE_FAILED, false, failed);
        verdict.fault = result->timed_out;
        fetch_tell_host(fetch, &verdict);
        fetch_finish(fetch, &verdict);
    }
}

static void fetch_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct fetch *fetch = arg;
    struct verdict verdict;
    const char *failed;

    (void)fd;
    (void)what;

    if (fetch->running) {
        fetch_on_silence(fetch);
        return;
    }

    failed = fetch_try(fetch);
    if (failed != NULL) {
        verdict_say(&verdict, SOURCE_FAILED, false, failed);
        verdict.retry_after = fetch->wait;
        fetch_finish(fetch, &verdict);
    }
}

/* start ------------------------------------------------------------------- */

static void fetch_set_options(struct fetch *fetch)
{
    CURL *easy = fetch->easy;

    transport_prepare(easy);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &fetch->slot);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->error);
    curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE,
                     (curl_off_t)fetch->request.max);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, fetch_on_connect);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, fetch_on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, fetch_on_body);
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
    fetch->receipt.fd = request->fd;
    fetch->receipt.max = request->max;
    fetch->receipt.cache = &request->config->cache;
    fetch->done = done;
    fetch->arg = arg;
    fetch->slot.done = fetch_on_hop_done;
    fetch->slot.arg = fetch;
    fetch->started = clock_ms();
    fetch->easy = curl_easy_init();
    fetch->timer = evtimer_new(fetcher_base(fetcher), fetch_on_timer, fetch);

    fetch->url = origin_plain(request->url);
    if (fetch->easy == NULL || fetch->timer == NULL || fetch->url == NULL) {
        fetch_free(fetch);
        return NULL;
    }

    fetch_set_options(fetch);
    fetch_arm(fetch, 0);
    return fetch;
}

bool fetch_receives(const struct fetch *fetch)
{
    return fetch->running && fetch->bytes > 0 &&
           (fetch->status == 200 || fetch_is_rest(fetch));
}

void fetch_cancel(struct fetch *fetch)
{
    fetch_free(fetch);
}
