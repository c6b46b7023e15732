/*
 * Copyright (C) the ngx_symcache authors
 *
 * A fetch is up to FETCH_TRIES tries, each from the original URL; a try is up
 * to FETCH_REDIRECTS + 1 hops.  Redirects are followed here and not by
 * libcurl, which would carry own headers such as X-Api-Key to other hosts and
 * would let http, https, http pass.
 */
#include "fetch.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "clock.h"
#include "fetcher.h"
#include "origin.h"
#include "proto/symcache_header.h"

#define FETCH_TRIES 3
#define FETCH_REDIRECTS 5
#define FETCH_CONNECT_MS 5000
#define FETCH_FIRST_BYTE_MS 30000
#define FETCH_STALL_SECONDS 30
#define FETCH_STALL_BYTES 1024 /* a second */
#define FETCH_BACKOFF_MS 100
#define FETCH_RETRY_AFTER_MAX 600
#define FETCH_ERROR_BODY 65536
#define FETCH_RESERVED "address is reserved; the source is not \"internal\""

struct fetch {
    struct fetcher *fetcher;
    struct fetch_request request;
    char *url; /* of request, without user info */
    CURL *easy;
    struct curl_slist *headers;
    struct fetcher_slot slot;
    struct event *timer; /* first byte of a hop; pause before a try */
    fetch_done_fn done;
    void *arg;
    uint64_t started;
    uint64_t bytes;
    unsigned tries;
    unsigned redirects;
    long status; /* of the hop, 0 = none yet */
    bool running;
    bool away;      /* redirected to another origin */
    bool secure;    /* has been on https */
    bool reserved;  /* an address was refused */
    bool too_large; /* the body */
    bool no_answer; /* within FETCH_FIRST_BYTE_MS */
    int write_error;
    struct fetch_answer answer;
    char error[CURL_ERROR_SIZE];
};

/* what to do about a hop that ended */
struct fetch_verdict {
    enum source_outcome outcome;
    bool transient;
    unsigned retry_after;
    char detail[CURL_ERROR_SIZE + 64];
};

static void fetch_free(struct fetch *fetch)
{
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
    curl_free(fetch->url);
    free(fetch);
}

static void fetch_finish(struct fetch *fetch,
                         const struct fetch_verdict *verdict)
{
    struct fetch_result result = {
        verdict->outcome,     verdict->detail,
        fetch->bytes,         clock_since(fetch->started),
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

/* libcurl's callbacks ----------------------------------------------------- */

/* Keeps the value of a line "name: value" in buf; the last one counts. */
static void fetch_keep(const char *line, size_t len, const char *name,
                       char *buf, size_t size)
{
    size_t n = strlen(name), i = 0;

    if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':') {
        return;
    }
    for (n++; n < len && (line[n] == ' ' || line[n] == '\t'); n++) {
    }
    while (len > n && (unsigned char)line[len - 1] <= ' ') {
        len--;
    }
    for (; n < len && i + 1 < size; n++) {
        buf[i++] = line[n] >= ' ' && line[n] < 0x7f ? line[n] : '?';
    }
    buf[i] = '\0';
}

static size_t fetch_on_header(char *line, size_t size, size_t n, void *arg)
{
    struct fetch *fetch = arg;
    struct fetch_answer *answer = &fetch->answer;

    fetch_keep(line, size * n, "Content-Type", answer->type,
               sizeof(answer->type));
    fetch_keep(line, size * n, SYMCACHE_HEADER_REASON, answer->reason,
               sizeof(answer->reason));
    answer->again |=
        size * n > 12 && strncasecmp(line, "Retry-After:", 12) == 0;
    evtimer_del(fetch->timer);
    return size * n;
}

static size_t fetch_on_body(char *data, size_t size, size_t n, void *arg)
{
    struct fetch *fetch = arg;
    size_t len = size * n, done = 0;
    ssize_t written;

    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &fetch->status);
    fetch->bytes += len;

    if (fetch->status != 200) {
        /* nobody wants to read it, and it may be endless */
        return fetch->bytes > FETCH_ERROR_BODY ? 0 : len;
    }
    if (fetch->bytes > fetch->request.max) {
        fetch->too_large = true;
        return 0;
    }

    while (done < len) {
        written = write(fetch->request.fd, data + done, len - done);
        if (written < 0 && errno != EINTR) {
            fetch->write_error = errno;
            return 0;
        }
        done += written > 0 ? (size_t)written : 0;
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
        fetch->reserved = true;
        return CURL_SOCKET_BAD;
    }

    return socket(address->family, address->socktype | SOCK_CLOEXEC,
                  address->protocol);
}

/* hops -------------------------------------------------------------------- */

/* Everything of the request that depends on where this hop goes. */
static int fetch_address(struct fetch *fetch, const char *url)
{
    const struct fetch_request *request = &fetch->request;
    const struct transport_config *transport = request->transport;
    bool home = request->credentials && !fetch->away;
    CURL *easy = fetch->easy;
    struct curl_slist *list;

    list = curl_slist_append(NULL, "Accept-Encoding: identity");
    if (!fetch->away) {
        list = transport_headers(request->extra, request->nextra, list);
    }
    if (home) {
        /* may be secrets: for the source's own origin only */
        list =
            transport_headers(transport->headers, transport->nheaders, list);
    }
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
static const char *fetch_hop(struct fetch *fetch, const char *url)
{
    const struct transport_config *transport = fetch->request.transport;
    CURL *easy = fetch->easy;
    unsigned left = fetch_left_ms(fetch);

    fetch->status = 0;
    fetch->answer.status = 0;
    fetch->answer.retry_after = 0;
    fetch->answer.again = false;
    fetch->answer.type[0] = '\0';
    fetch->answer.reason[0] = '\0';
    fetch->bytes = 0;
    fetch->reserved = false;
    fetch->too_large = false;
    fetch->no_answer = false;
    fetch->write_error = 0;
    fetch->error[0] = '\0';

    if (transport->proxy != NULL && !transport->internal &&
        origin_reserved(url)) {
        return FETCH_RESERVED;
    }
    if (fetch_address(fetch, url) != 0) {
        return "out of memory";
    }

    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(left > 0 ? left : 1));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)FETCH_CONNECT_MS);
    fetch_arm(fetch, FETCH_FIRST_BYTE_MS);

    if (fetcher_add(fetch->fetcher, easy) != 0) {
        return "out of memory";
    }
    fetch->running = true;
    return NULL;
}

/* Returns NULL, or why not. */
static const char *fetch_try(struct fetch *fetch)
{
    fetch->tries++;
    fetch->redirects = 0;
    fetch->answer.moved_type[0] = '\0';
    fetch->away = false;
    fetch->secure = strncmp(fetch->url, "https:", 6) == 0;

    if (ftruncate(fetch->request.fd, 0) != 0 ||
        lseek(fetch->request.fd, 0, SEEK_SET) != 0) {
        return strerror(errno);
    }
    return fetch_hop(fetch, fetch->url);
}

/* Words that lead to a sign-in page, unless the PDB itself is called so. */
static bool fetch_leads_to_login(const char *from, const char *to)
{
    static const char *const words[] = {"signin", "sign-in", "sign_in",
                                        "login",  "logon",   "oauth2/",
                                        "adfs/ls"};
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasestr(to, words[i]) != NULL &&
            strcasestr(from, words[i]) == NULL) {
            return true;
        }
    }

    return false;
}

/* Goes on at target.  Returns NULL, or why not. */
static const char *fetch_redirect(struct fetch *fetch, const char *target)
{
    CURLU *next = curl_url();
    const char *refused = NULL;
    char *url = NULL;

    if (next == NULL) {
        refused = "out of memory";
    } else if (curl_url_set(next, CURLUPART_URL, target, 0) != CURLUE_OK) {
        refused = "redirect to a bad URL";
    } else if (fetch->secure && strncmp(target, "https:", 6) != 0) {
        refused = "redirect from https to http refused";
    } else if (strncmp(target, "http:", 5) != 0 &&
               strncmp(target, "https:", 6) != 0) {
        refused = "redirect to another protocol refused";
    } else if (++fetch->redirects > FETCH_REDIRECTS) {
        refused = "too many redirects";
    } else if (fetch_leads_to_login(fetch->url, target)) {
        refused = "redirect to a login page";
    } else {
        fetch->secure |= strncmp(target, "https:", 6) == 0;
        fetch->away |= !origin_same(fetch->url, target);
        curl_url_set(next, CURLUPART_USER, NULL, 0);
        curl_url_set(next, CURLUPART_PASSWORD, NULL, 0);
        refused = curl_url_get(next, CURLUPART_URL, &url, 0) == CURLUE_OK
                      ? fetch_hop(fetch, url)
                      : "out of memory";
    }

    curl_free(url);
    curl_url_cleanup(next);
    return refused;
}

/* the end of a hop -------------------------------------------------------- */

static void fetch_say(struct fetch_verdict *verdict,
                      enum source_outcome outcome, bool transient,
                      const char *detail)
{
    verdict->outcome = outcome;
    verdict->transient = transient;
    snprintf(verdict->detail, sizeof(verdict->detail), "%s", detail);
}

static unsigned fetch_retry_after(struct fetch *fetch)
{
    curl_off_t seconds = 0;

    curl_easy_getinfo(fetch->easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds <= 0) {
        return 0;
    }
    return seconds > FETCH_RETRY_AFTER_MAX ? FETCH_RETRY_AFTER_MAX
                                           : (unsigned)seconds;
}

/* Is a byte escaped in <name>/<GUIDAGE>/<form>, the last three parts? */
static bool fetch_odd_name(const char *url)
{
    const char *p = url + strlen(url);
    int slashes = 0;

    while (p > url && slashes < 3) {
        p--;
        if (*p == '%') {
            return true;
        }
        slashes += *p == '/';
    }
    return false;
}

/* A final answer other than 200. */
static void fetch_judge_status(struct fetch *fetch,
                               struct fetch_verdict *verdict)
{
    char text[32];
    bool odd = fetch->redirects == 0 && fetch_odd_name(fetch->url);

    snprintf(text, sizeof(text), "%ld", fetch->status);
    fetch_say(verdict, SOURCE_FAILED, false, text);

    switch (fetch->status) {
    case 204:
    case 404:
    case 410:
        verdict->outcome = SOURCE_NOT_FOUND;
        break;
    case 400:
        /* some servers take no odd names; otherwise it is about us */
        verdict->outcome = odd ? SOURCE_NOT_FOUND : SOURCE_FAILED;
        break;
    case 408:
    case 500:
    case 502:
    case 504:
        verdict->transient = true;
        break;
    case 429:
    case 503:
        verdict->retry_after = fetch->answer.retry_after;
        verdict->transient = verdict->retry_after == 0;
        break;
    default:
        break;
    }
}

/* A transfer that libcurl did not bring to its end. */
static void fetch_judge_error(struct fetch *fetch, CURLcode code,
                              struct fetch_verdict *verdict)
{
    const char *text = fetch->error;

    if (text[0] == '\0') {
        text = curl_easy_strerror(code);
    }

    if (fetch->reserved) {
        fetch_say(verdict, SOURCE_FAILED, false, FETCH_RESERVED);
    } else if (fetch->too_large || code == CURLE_FILESIZE_EXCEEDED) {
        fetch_say(verdict, SOURCE_UNUSABLE, false, "");
        snprintf(verdict->detail, sizeof(verdict->detail),
                 "larger than %" PRIu64 " bytes", fetch->request.max);
    } else if (fetch->write_error != 0) {
        fetch_say(verdict, SOURCE_FAILED, false, strerror(fetch->write_error));
    } else if (fetch->no_answer) {
        fetch_say(verdict, SOURCE_FAILED, true, "no answer in time");
    } else if (code == CURLE_PARTIAL_FILE) {
        fetch_say(verdict, SOURCE_FAILED, true, "truncated body");
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        fetch_say(verdict, SOURCE_FAILED, true,
                  fetch_left_ms(fetch) == 0 ? "took longer than download_time"
                                            : text);
    } else {
        fetch_say(verdict, SOURCE_FAILED,
                  code != CURLE_PEER_FAILED_VERIFICATION &&
                      code != CURLE_UNSUPPORTED_PROTOCOL &&
                      code != CURLE_URL_MALFORMAT &&
                      code != CURLE_OUT_OF_MEMORY,
                  text);
    }
}

/* Returns true if another hop has begun. */
static bool fetch_judge(struct fetch *fetch, CURLcode code,
                        struct fetch_verdict *verdict)
{
    const char *refused;
    char *target = NULL;

    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &fetch->status);
    fetch->answer.status = fetch->status;
    fetch->answer.retry_after = fetch_retry_after(fetch);
    fetch->answer.moved = fetch->redirects > 0;

    if (fetch->status == 0 || fetch->no_answer ||
        (fetch->status == 200 && code != CURLE_OK)) {
        fetch_judge_error(fetch, code, verdict);
        return false;
    }
    if (fetch->status == 200) {
        if (fetch->bytes == 0) {
            fetch_say(verdict, SOURCE_UNUSABLE, false, "200, empty body");
        } else {
            fetch_say(verdict, SOURCE_FOUND, false, "200");
        }
        return false;
    }

    curl_easy_getinfo(fetch->easy, CURLINFO_REDIRECT_URL, &target);
    if (fetch->status / 100 != 3 || target == NULL) {
        fetch_judge_status(fetch, verdict);
        return false;
    }

    snprintf(fetch->answer.moved_type, sizeof(fetch->answer.moved_type), "%s",
             fetch->answer.type);
    refused = fetch_redirect(fetch, target);
    if (refused != NULL) {
        fetch_say(verdict, SOURCE_FAILED, false, refused);
    }
    return refused == NULL;
}

static void fetch_on_hop_done(void *arg, CURLcode code)
{
    struct fetch *fetch = arg;
    struct fetch_verdict verdict = {0};
    unsigned pause;

    fetch->running = false;
    evtimer_del(fetch->timer);

    if (fetch_judge(fetch, code, &verdict)) {
        return;
    }

    pause = FETCH_BACKOFF_MS << fetch->tries;
    pause += (unsigned)random() % pause;
    if (verdict.transient && fetch->tries < FETCH_TRIES &&
        fetch_left_ms(fetch) > pause) {
        fetch_arm(fetch, pause);
        return;
    }

    fetch_finish(fetch, &verdict);
}

static void fetch_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct fetch *fetch = arg;
    struct fetch_verdict verdict = {0};
    const char *failed;

    (void)fd;
    (void)what;

    if (fetch->running) {
        fetcher_remove(fetch->fetcher, fetch->easy);
        fetch->no_answer = true;
        fetch_on_hop_done(fetch, CURLE_OPERATION_TIMEDOUT);
        return;
    }

    failed = fetch_try(fetch);
    if (failed != NULL) {
        fetch_say(&verdict, SOURCE_FAILED, false, failed);
        fetch_finish(fetch, &verdict);
    }
}

/* start ------------------------------------------------------------------- */

static int fetch_split_url(struct fetch *fetch, const char *url)
{
    CURLU *parts = curl_url();
    int rc = -1;

    if (parts != NULL &&
        curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
        curl_url_set(parts, CURLUPART_USER, NULL, 0);
        curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0);
        curl_url_set(parts, CURLUPART_FRAGMENT, NULL, 0);
        rc = curl_url_get(parts, CURLUPART_URL, &fetch->url, 0) == CURLUE_OK
                 ? 0
                 : -1;
    }

    curl_url_cleanup(parts);
    return rc;
}

static void fetch_set_options(struct fetch *fetch)
{
    CURL *easy = fetch->easy;

    curl_easy_setopt(easy, CURLOPT_PRIVATE, &fetch->slot);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* a transfer that ends while a name is looked up does not wait for it */
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->error);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS,
                     (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)FETCH_STALL_BYTES);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)FETCH_STALL_SECONDS);
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
    fetch->done = done;
    fetch->arg = arg;
    fetch->slot.done = fetch_on_hop_done;
    fetch->slot.arg = fetch;
    fetch->started = clock_ms();
    fetch->easy = curl_easy_init();
    fetch->timer = evtimer_new(fetcher_base(fetcher), fetch_on_timer, fetch);

    if (fetch->easy == NULL || fetch->timer == NULL ||
        fetch_split_url(fetch, request->url) != 0) {
        fetch_free(fetch);
        return NULL;
    }

    fetch_set_options(fetch);
    fetch_arm(fetch, 0);
    return fetch;
}

void fetch_cancel(struct fetch *fetch)
{
    fetch_free(fetch);
}

void fetch_place(char *buf, size_t size, const char *url)
{
    const char *host = strstr(url, "://"), *at;
    size_t len;

    host = host == NULL ? url : host + 3;
    at = memchr(host, '@', strcspn(host, "/?#"));
    len = strcspn(at == NULL ? host : at + 1, "?#");

    snprintf(buf, size, "%.*s%.*s", (int)(host - url), url, (int)len,
             at == NULL ? host : at + 1);
}
