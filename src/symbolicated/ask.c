/*
 * Copyright (C) the ngx_symcache authors
 */
#include "ask.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>
#include "base/percent.h"
#include "proto/header.h"

/* The open format has the major versions 7 to 9; see modules/look.c. */
#define QUERY "version=9.65535.65535&exceeds=6.65535.65535"

#define HEAD_MAX 16384

/* symcached answers in time, or else it hangs. */
#define PATIENCE_SECONDS 10

struct ask {
    struct bufferevent *bev;
    int error; /* of a connect() that failed at once */
    ask_fn fn;
    void *arg;
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

static void end(struct ask *ask, enum ask_answer answer, unsigned valid)
{
    ask_fn fn = ask->fn;
    void *arg = ask->arg;

    ask_cancel(ask);
    fn(arg, answer, valid);
}

/* The value of a header line, up to its end; NULL if there is none. */
static const char *find_header(const char *head, const char *name)
{
    size_t n = strlen(name);
    const char *line;

    for (line = strstr(head, "\r\n"); line != NULL;
         line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, n) == 0 && line[2 + n] == ':') {
            line += 2 + n + 1;
            return line + strspn(line, " \t");
        }
    }
    return NULL;
}

static enum ask_answer judge(const char *head)
{
    const char *reason;
    int status = 0;

    if (sscanf(head, "HTTP/1.%*1[01] %3d ", &status) != 1) {
        return ASK_FAILED;
    }
    switch (status) {
    case 200:
        return ASK_FOUND;
    case 202:
        return ASK_PENDING;
    case 304: /* nothing that is made here is in the open format */
    case 400: /* nor is there a file of such a key */
        return ASK_ABSENT;
    case 404:
        reason = find_header(head, SYMCACHE_HEADER_REASON);
        return reason != NULL && strncmp(reason, "malformed\r", 10) == 0
                   ? ASK_MALFORMED
                   : ASK_ABSENT;
    default:
        return ASK_FAILED;
    }
}

static void answered(struct ask *ask, const char *head)
{
    const char *valid = find_header(head, SYMCACHE_HEADER_VALID);

    end(ask, judge(head),
        valid != NULL ? (unsigned)strtoul(valid, NULL, 10) : 0);
}

static void on_read(struct bufferevent *bev, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(bev);
    size_t size = evbuffer_get_length(in);
    struct ask *ask = arg;
    char head[HEAD_MAX + 1];

    size = size < HEAD_MAX ? size : HEAD_MAX;
    evbuffer_copyout(in, head, size);
    head[size] = '\0';
    if (strstr(head, "\r\n\r\n") != NULL) {
        answered(ask, head);
    } else if (size == HEAD_MAX) {
        end(ask, ASK_FAILED, 0);
    }
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct ask *ask = arg;
    int error = ask->error != 0 ? ask->error : EVUTIL_SOCKET_ERROR();

    if ((what & BEV_EVENT_CONNECTED) == 0) {
        end(ask, (what & BEV_EVENT_ERROR) != 0 &&
                         (error == ENOENT || error == ECONNREFUSED)
                     ? ASK_NOBODY
                     : ASK_FAILED,
            0);
    }
}

static int send_question(struct ask *ask, const char *store,
                         const symcache_key_t *key, const char *name,
                         size_t name_size, unsigned wait)
{
    char plain[SYMCACHE_NAME_MAX + 1], encoded[3 * SYMCACHE_NAME_MAX + 1];
    char id[SYMCACHE_ID_TEXT_MAX + 1], waits[32] = "";

    snprintf(plain, sizeof(plain), "%.*s", (int)name_size, name);
    percent_encode(encoded, plain);
    symcache_id_print(id, key);
    if (wait > 0) {
        snprintf(waits, sizeof(waits), "&wait=%u", wait);
    }
    return evbuffer_add_printf(
               bufferevent_get_output(ask->bev),
               "GET /v1/%s/%s/%s/%s?" QUERY "%s HTTP/1.1\r\n"
               "Host: symcached\r\nConnection: close\r\n\r\n",
               symcache_kind_text((symcache_kind_e)key->kind), store, encoded,
               id, waits) > 0
               ? 0
               : -1;
}

struct ask *ask_start(struct event_base *base,
                      const struct ask_address *address, const char *store,
                      const symcache_key_t *key, const char *name,
                      size_t name_size, unsigned wait, ask_fn fn, void *arg)
{
    struct timeval limit = {.tv_sec = (time_t)wait + PATIENCE_SECONDS};
    struct ask *ask = calloc(1, sizeof(*ask));

    if (ask == NULL) {
        return NULL;
    }
    ask->fn = fn;
    ask->arg = arg;
    ask->bev = bufferevent_socket_new(
        base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (ask->bev == NULL ||
        send_question(ask, store, key, name, name_size, wait) != 0) {
        ask_cancel(ask);
        return NULL;
    }
    bufferevent_setcb(ask->bev, on_read, NULL, on_event, ask);
    bufferevent_set_timeouts(ask->bev, &limit, &limit);
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
    if (ask->bev != NULL) {
        bufferevent_free(ask->bev);
    }
    free(ask);
}
