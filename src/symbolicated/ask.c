/*
 * Copyright (C) the ngx_symcache authors
 */
#include "ask.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include "base/percent.h"

/* The open format has the major versions 7 to 9; see modules/look.c. */
#define QUERY "version=9.65535.65535&exceeds=6.65535.65535"

#define HEAD_MAX 16384
#define LINE_MAX_BYTES 128 /* a longer one is nothing that symcached sends */

/* symcached answers in time, or else it hangs. */
#define PATIENCE_SECONDS 10

struct ask {
    struct bufferevent *bev;
    struct event limit;
    int error; /* of a connect() that failed at once */
    bool has_head;
    ask_fn fn;
    void *arg;
    size_t open; /* keys that are not answered yet */
    size_t n;
    bool is_answered[ASK_KEYS_MAX];
};

void ask_address(struct ask_address *address, const char *text)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&address->address;
    int size = sizeof(address->address);

    memset(address, 0, sizeof(*address));
    if (strncmp(text, "unix:", 5) == 0) {
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path, sizeof(un->sun_path), "%s", text + 5);
        address->size = sizeof(*un);
        return;
    }
    evutil_parse_sockaddr_port(text, (struct sockaddr *)&address->address,
                               &size);
    address->size = (socklen_t)size;
}

/* Gives all keys that are not answered yet the same answer. */
static void end(struct ask *ask, struct ask_reply *replies, size_t n,
                enum ask_answer answer)
{
    ask_fn fn = ask->fn;
    void *arg = ask->arg;
    size_t i;

    for (i = 0; i < ask->n; i++) {
        if (!ask->is_answered[i]) {
            replies[n++] = (struct ask_reply){i, answer, 0};
        }
    }
    ask_cancel(ask);
    fn(arg, replies, n, true);
}

static void fail(struct ask *ask, enum ask_answer answer)
{
    struct ask_reply replies[ASK_KEYS_MAX];

    end(ask, replies, 0, answer);
}

static enum ask_answer judge(unsigned status, const char *reason)
{
    switch (status) {
    case 200:
        return ASK_FOUND;
    case 202:
        return ASK_PENDING;
    case 304: /* nothing that is made here is in the open format */
    case 400: /* nor is there a file of such a key */
        return ASK_ABSENT;
    case 404:
        return strcmp(reason, "malformed") == 0 ? ASK_MALFORMED : ASK_ABSENT;
    default:
        return ASK_FAILED;
    }
}

/* Reads "I STATUS SECONDS[ REASON]".  Returns false if it is not that, or is
 * about no key that is open. */
static bool read_line(struct ask *ask, const char *line,
                      struct ask_reply *reply)
{
    char reason[LINE_MAX_BYTES + 1] = "";
    unsigned i, status, seconds;

    if (sscanf(line, "%4u %3u %9u %128s", &i, &status, &seconds, reason) < 3 ||
        i >= ask->n || ask->is_answered[i]) {
        return false;
    }
    ask->is_answered[i] = true;
    ask->open--;
    reply->i = i;
    reply->answer = judge(status, reason);
    reply->valid = seconds;
    return true;
}

/* Takes the head of the answer out.  Returns 1, 0 if it has not come wholly
 * yet, or -1 if this is no answer. */
static int read_head(struct evbuffer *in)
{
    struct evbuffer_ptr end = evbuffer_search(in, "\r\n\r\n", 4, NULL);
    char line[16] = "";
    int status = 0;

    if (end.pos == -1) {
        return evbuffer_get_length(in) < HEAD_MAX ? 0 : -1;
    }
    evbuffer_copyout(in, line, sizeof(line) - 1);
    if (sscanf(line, "HTTP/1.%*1[01] %3d", &status) != 1 || status != 200) {
        return -1;
    }
    evbuffer_drain(in, (size_t)end.pos + 4);
    return 1;
}

/* Reads the lines that have come.  Returns false if one is none. */
static bool read_lines(struct ask *ask, struct evbuffer *in,
                       struct ask_reply *replies, size_t *n)
{
    bool is_good = true;
    char *line;

    while (is_good && ask->open > 0 &&
           (line = evbuffer_readln(in, NULL, EVBUFFER_EOL_LF)) != NULL) {
        is_good = read_line(ask, line, &replies[*n]);
        *n += is_good;
        free(line);
    }
    return is_good &&
           (ask->open == 0 || evbuffer_get_length(in) <= LINE_MAX_BYTES);
}

static void on_read(struct bufferevent *bev, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(bev);
    struct ask_reply replies[ASK_KEYS_MAX];
    struct ask *ask = arg;
    size_t n = 0;
    int rc;

    if (!ask->has_head) {
        rc = read_head(in);
        if (rc == -1) {
            fail(ask, ASK_FAILED);
        }
        if (rc != 1) {
            return;
        }
        ask->has_head = true;
    }
    if (!read_lines(ask, in, replies, &n) || ask->open == 0) {
        end(ask, replies, n, ASK_FAILED);
    } else if (n > 0) {
        ask->fn(ask->arg, replies, n, false);
    }
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct ask *ask = arg;
    int error = ask->error != 0 ? ask->error : EVUTIL_SOCKET_ERROR();

    if ((what & BEV_EVENT_CONNECTED) == 0) {
        fail(ask, (what & BEV_EVENT_ERROR) != 0 &&
                          (error == ENOENT || error == ECONNREFUSED)
                      ? ASK_NOBODY
                      : ASK_FAILED);
    }
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
    fail(arg, ASK_FAILED);
}

static int add_path(struct evbuffer *body, const struct ask_key *k)
{
    char plain[SYMCACHE_NAME_MAX + 1], encoded[3 * SYMCACHE_NAME_MAX + 1];
    char id[SYMCACHE_ID_TEXT_MAX + 1];

    snprintf(plain, sizeof(plain), "%.*s", (int)k->name_size, k->name);
    percent_encode(encoded, plain);
    symcache_id_print(id, k->key);
    return evbuffer_add_printf(
        body, "/v1/%s/%s/%s/%s\n",
        symcache_kind_text((symcache_kind_e)k->key->kind), k->store, encoded,
        id);
}

static int send_question(struct ask *ask, const struct ask_key *keys,
                         unsigned wait)
{
    struct evbuffer *out = bufferevent_get_output(ask->bev);
    struct evbuffer *body = evbuffer_new();
    int rc = body != NULL ? 0 : -1;
    size_t i;

    for (i = 0; i < ask->n && rc >= 0; i++) {
        rc = add_path(body, &keys[i]);
    }
    if (rc >= 0) {
        rc = evbuffer_add_printf(out,
                                 "POST /v1/lookups?" QUERY "&wait=%u HTTP/1.1"
                                 "\r\nHost: symcached\r\n"
                                 "Content-Length: %zu\r\n"
                                 "Connection: close\r\n\r\n",
                                 wait, evbuffer_get_length(body));
    }
    if (rc >= 0) {
        rc = evbuffer_add_buffer(out, body);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
    return rc >= 0 ? 0 : -1;
}

struct ask *ask_start(struct event_base *base,
                      const struct ask_address *address,
                      const struct ask_key *keys, size_t n, unsigned wait,
                      ask_fn fn, void *arg)
{
    struct timeval limit = {.tv_sec = (time_t)wait + PATIENCE_SECONDS};
    struct ask *ask = calloc(1, sizeof(*ask));

    if (ask == NULL) {
        return NULL;
    }
    ask->n = ask->open = n;
    ask->fn = fn;
    ask->arg = arg;
    evtimer_assign(&ask->limit, base, on_limit, ask);
    ask->bev = bufferevent_socket_new(
        base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (ask->bev == NULL || send_question(ask, keys, wait) != 0 ||
        evtimer_add(&ask->limit, &limit) != 0) {
        ask_cancel(ask);
        return NULL;
    }
    bufferevent_setcb(ask->bev, on_read, NULL, on_event, ask);
    bufferevent_enable(ask->bev, EV_READ | EV_WRITE);
    if (bufferevent_socket_connect(ask->bev,
                                   (const struct sockaddr *)&address->address,
                                   (int)address->size) != 0) {
        ask->error = errno;
        bufferevent_trigger_event(ask->bev, BEV_EVENT_ERROR,
                                  BEV_OPT_DEFER_CALLBACKS);
    }
    return ask;
}

void ask_cancel(struct ask *ask)
{
    evtimer_del(&ask->limit);
    if (ask->bev != NULL) {
        bufferevent_free(ask->bev);
    }
    free(ask);
}
