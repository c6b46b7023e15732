/*
 * Copyright (C) the ngx_symcache authors
 */
#include "send.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address_choice.h"
#include "base/origin.h"
#include "classify.h"
#include "fetch.h"
#include "fetcher.h"
#include "host.h"
#include "transport.h"

#define SEND_ANSWER 65536 /* bytes of an answer's body that are taken */

struct send {
    CURL *easy;
    struct curl_slist *headers;
    struct fetcher *fetcher;
    const struct transport_config *transport;
    struct fetcher_slot slot;
    struct host *host; /* or NULL */
    bool is_local;     /* asks a socket of this machine */
    struct address_choice choice;
    bool running;
    int fd;
    uint64_t from;
    uint64_t size;
    uint64_t at; /* of the next byte to send, behind from */
    send_done_fn done;
    void *arg;
    struct fetch_response response;
    int no_socket; /* why there is none, or 0 */
    char error[CURL_ERROR_SIZE];
};

void send_cancel(struct send *send)
{
    if (send->easy != NULL) {
        if (send->running) {
            fetcher_remove(&send->slot, send->easy);
        }
        curl_easy_cleanup(send->easy);
    }
    if (send->host != NULL) {
        host_unuse(send->host);
    }
    curl_slist_free_all(send->headers);
    free(send);
}

static size_t send_on_header(char *line, size_t size, size_t n, void *arg)
{
    struct send *send = arg;

    return fetch_response_line(&send->response, line, size * n) ? size * n : 0;
}

static size_t send_on_answer(char *data, size_t size, size_t n, void *arg)
{
    struct send *send = arg;

    send->response.bytes += size * n;
    fetch_response_body(&send->response, data, size * n);
    return send->response.bytes <= SEND_ANSWER ? size * n : 0;
}

/* The size was announced, so a file that was cut short must not end early. */
static size_t send_on_body(char *buf, size_t size, size_t n, void *arg)
{
    struct send *send = arg;
    uint64_t left = send->size - send->at;
    size_t want = size * n < left ? size * n : (size_t)left;
    ssize_t got = want > 0 ? pread(send->fd, buf, want,
                                   (off_t)(send->from + send->at))
                           : 0;

    if (got < 0 || (got == 0 && want > 0)) {
        return CURL_READFUNC_ABORT;
    }
    send->at += (uint64_t)got;
    return (size_t)got;
}

/* A kept connection was closed before it took the request. */
static int send_on_seek(void *arg, curl_off_t offset, int origin)
{
    struct send *send = arg;

    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > send->size) {
        return CURL_SEEKFUNC_FAIL;
    }
    send->at = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* To libcurl, a lack of descriptors is a server that cannot be reached. */
static curl_socket_t send_on_connect(void *arg, curlsocktype purpose,
                                     struct curl_sockaddr *address)
{
    struct send *send = arg;
    int fd;

    if (!address_choice_takes(&send->choice, send->host, address)) {
        fetcher_go_on(&send->slot);
        return CURL_SOCKET_BAD;
    }
    fd = socket(address->family, address->socktype | SOCK_CLOEXEC,
                address->protocol);
    send->no_socket = fd < 0 && errno != EAFNOSUPPORT ? errno : 0;
    return fd;
}

static bool run(struct send *send)
{
    send->running = fetcher_add(send->fetcher, send->easy, &send->slot,
                                send->transport, true) == 0;
    return send->running;
}

static void send_on_done(void *arg, CURLcode code)
{
    struct send *send = arg;
    struct send_result result = {.response = &send->response};
    struct classification class;

    send->running = false;
    if (address_choice_is_none(&send->choice, send->host, code) && run(send)) {
        return;
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
        fetcher_was_silent(&send->slot);
    }
    if (code == CURLE_OK && send->response.whole) {
        fetch_response_end(&send->response, send->easy);
        snprintf(class.detail, sizeof(class.detail), "%ld",
                 send->response.status);
    } else {
        classify_error(&class, code, send->error, 0);
        classify_connection(&class, code, send->easy);
        if (send->no_socket != 0) {
            snprintf(class.detail, sizeof(class.detail), "socket: %s",
                     strerror(send->no_socket));
        } else if (send->is_local && class.errnum != 0) {
            /* libcurl tells of a host and a port */
            snprintf(class.detail, sizeof(class.detail), "connect: %s",
                     strerror(class.errnum));
        }
        if (send->response.lines_size == 0) {
            address_choice_failed(&send->choice, send->host, send->easy, code,
                                  class.fault);
        }
        fetch_response_clear(&send->response);
    }
    result.detail = class.detail;
    send->done(send->arg, &result);
    send_cancel(send);
}

static void send_set_options(struct send *send,
                             const struct send_request *request)
{
    CURL *easy = send->easy;

    transport_prepare(easy);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &send->slot);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, send->error);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, send_on_connect);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, send);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, send_on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, send);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, send_on_answer);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, send);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)request->connect);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)request->seconds);
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request->socket);
    if (request->stall > 0) {
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)request->stall);
    }
    if (strcmp(request->method, "HEAD") == 0) {
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
        return;
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
    if (strcmp(request->method, "DELETE") != 0) {
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
                         (curl_off_t)request->size);
        /* a large body is announced with "Expect", which cannot be left out,
         * as libcurl would sign an empty one; it need not be answered */
        curl_easy_setopt(easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, send_on_body);
        curl_easy_setopt(easy, CURLOPT_READDATA, send);
        curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, send_on_seek);
        curl_easy_setopt(easy, CURLOPT_SEEKDATA, send);
    }
}

/* The same headers and credentials as a fetch has. */
static int address(struct send *send, const struct send_request *request)
{
    const struct transport_config *transport = request->transport;
    struct curl_slist *list = curl_slist_append(NULL, "Accept: */*");

    list = transport_headers(request->extra, request->nextra, list);
    list = transport_headers(transport->headers, transport->nheaders, list);
    send->headers = list;
    return list != NULL &&
                   transport_apply(transport, send->easy, request->method,
                                   request->url, &send->headers, true,
                                   false) == CURLE_OK
               ? 0
               : -1;
}

struct send *send_start(struct fetcher *fetcher,
                        const struct send_request *request, send_done_fn done,
                        void *arg)
{
    struct send *send = calloc(1, sizeof(*send));
    char origin[ORIGIN_MAX];

    if (send == NULL) {
        return NULL;
    }
    if (request->socket == NULL &&
        origin_print(origin, sizeof(origin), request->url) == 0) {
        send->host = host_use(fetcher_hosts(fetcher), origin);
    }
    send->fetcher = fetcher;
    send->transport = request->transport;
    send->is_local = request->socket != NULL;
    send->fd = request->fd;
    send->from = request->from;
    send->size = request->size;
    send->done = done;
    send->arg = arg;
    send->slot.done = send_on_done;
    send->slot.arg = send;
    fetch_response_clear(&send->response);
    send->easy = curl_easy_init();
    if (send->easy == NULL || address(send, request) != 0) {
        send_cancel(send);
        return NULL;
    }
    send_set_options(send, request);
    if (!run(send)) {
        send_cancel(send);
        return NULL;
    }
    return send;
}
