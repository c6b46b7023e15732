/*
 * Copyright (C) the ngx_symcache authors
 *
 * evhttp reads from the buffer of a connection; a callback of that buffer sees
 * the data before evhttp does.  It follows heads and bodies, and notes the
 * faults of a head.  evhttp may still take such a head for a request, which is
 * then answered here.
 */
#include "evhttp_gate.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <event2/buffer.h>
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "base/fd_readable.h"
#include "base/hash_table.h"
#include "base/running_clock.h"
#include "request_head.h"
#include "socket_peer.h"
#include "reply.h"
#include "base/http_status.h"

/* How long a request may take from its first byte to its last one, and a
 * connection before its first request.  Bodies are small. */
#define REQUEST_MS 10000

#define SAY_MS 60000

struct gate_connection {
    TAILQ_ENTRY(gate_connection) entry; /* of fresh or under_way */
    struct gate *gate;
    struct bufferevent *bev;
    struct evhttp_connection *connection; /* NULL: it is fresh */
    struct socket_peer *peer; /* or NULL */
    bool is_listed;
    bool is_running; /* it has a request that is not answered */
    int wrong;       /* status of what is wrong with a head, or 0 */
    bool is_refused; /* and it was answered so */
    uint64_t since;  /* the gate's now when what is under way began */
    uint64_t left;   /* bytes of the body */
    char *head;      /* the begin of a head, or NULL */
    size_t size;
    uint32_t seen; /* of it */
};

TAILQ_HEAD(gate_connections, gate_connection);

struct gate {
    struct gate_calls calls;
    struct event *tick;
    struct event *accepted;
    struct gate_connections fresh;     /* evhttp is about to make them */
    struct gate_connections under_way; /* requests; the oldest is first */
    unsigned nunder_way;
    struct running_clock clock;
    uint64_t now;  /* its time of the last tick */
    uint64_t said; /* clock_ms() when a share was last logged, or 0 */
};

/* all connections but fresh ones, by their address */
static struct table connections;

static struct gate_connection *
find_gate_connection(struct evhttp_connection *connection)
{
    size_t at = 0;

    return (struct gate_connection *)table_next(
        &connections, table_hash_number(&connections, (uintptr_t)connection),
        &at);
}

/* Without requests there are no ticks: the process need not wake up.  If memory
 * runs out, the next request tries again. */
static void gate_start_ticks(struct gate *gate)
{
    static const struct timeval often = {
        .tv_sec = RUNNING_CLOCK_LOOK_MS / 1000};

    if (!event_pending(gate->tick, EV_TIMEOUT, NULL)) {
        gate->now = running_clock_ms(&gate->clock);
        event_add(gate->tick, &often);
    }
}

static void gate_set_under_way(struct gate_connection *c, bool is_under_way)
{
    if (c->is_listed == is_under_way) {
        return;
    }
    c->is_listed = is_under_way;
    if (is_under_way) {
        gate_start_ticks(c->gate);
        c->since = c->gate->now;
        c->gate->nunder_way++;
        TAILQ_INSERT_TAIL(&c->gate->under_way, c, entry);
    } else {
        c->gate->nunder_way--;
        TAILQ_REMOVE(&c->gate->under_way, c, entry);
    }
}

/* what comes -------------------------------------------------------------- */

static void gate_drop_head(struct gate_connection *c)
{
    free(c->head);
    c->head = NULL;
    c->size = 0;
    c->seen = 0;
}

/* evhttp reads the body of these methods, and takes that of others for the
 * next request; also that of CONNECT, if it is too long, as a connection with
 * such a request is not closed. */
static bool gate_reads_body(const char *method)
{
    static const char *const methods[] = {"GET",   "POST",   "PUT",
                                          "PATCH", "DELETE", "OPTIONS"};
    size_t i, size = strcspn(method, " ");

    for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (strlen(methods[i]) == size &&
            memcmp(methods[i], method, size) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Reads bytes that follow those in c->head.  Returns how many of them belong to
 * this head, once it is whole; 0 if it is not whole yet; or a status, negated.
 */
static int gate_read_head(struct gate_connection *c, const char *data,
                          size_t size)
{
    struct http_head head;
    size_t before = c->size;
    char *grown = realloc(c->head, before + size);
    int n, status;

    if (grown == NULL) {
        return -503;
    }
    c->head = grown;
    memcpy(c->head + before, data, size);
    c->size += size;
    n = http_head_find_end(c->head, c->size, &c->seen);
    if (n <= 0) {
        return n;
    }
    status = http_head_parse(c->head, (size_t)n, &head);
    if (status == 0 && head.is_chunked) {
        status = 411;
    } else if (status == 0 && head.length > 0 && !gate_reads_body(c->head)) {
        status = 400;
    }
    gate_drop_head(c);
    c->left = head.length;
    return status == 0 ? n - (int)before : -status;
}

static void gate_follow_input(struct gate_connection *c, const char *data,
                              size_t size)
{
    size_t n;
    int rc;

    while (size > 0 && c->wrong == 0) {
        n = c->left < size ? (size_t)c->left : size;
        c->left -= n;
        if (n == 0) {
            rc = gate_read_head(c, data, size);
            c->wrong = rc < 0 ? -rc : 0;
            n = rc > 0 ? (size_t)rc : size;
        }
        data += n;
        size -= n;
    }
}

static void gate_on_input(struct evbuffer *input,
                          const struct evbuffer_cb_info *change, void *arg)
{
    struct gate_connection *c = arg;
    size_t added = change->n_added, size = evbuffer_get_length(input);
    struct evbuffer_ptr from;
    char data[4096];
    ev_ssize_t n;

    if (added == 0 || added > size ||
        evbuffer_ptr_set(input, &from, size - added, EVBUFFER_PTR_SET) != 0) {
        return;
    }
    while (added > 0) {
        n = evbuffer_copyout_from(input, &from, data, sizeof(data));
        if (n <= 0) {
            c->wrong = 503;
            break;
        }
        gate_follow_input(c, data, (size_t)n);
        added -= (size_t)n;
        if (added > 0 && evbuffer_ptr_set(input, &from, (size_t)n,
                                          EVBUFFER_PTR_ADD) != 0) {
            c->wrong = 503;
            break;
        }
    }
    gate_set_under_way(c, c->wrong != 0 || c->left > 0 || c->size > 0);
}

/* requests ---------------------------------------------------------------- */

static void gate_on_sent(struct evhttp_request *req, void *arg)
{
    struct gate_connection *c = arg;

    c->is_running = false;
    c->gate->calls.ended(c->gate->calls.arg);
}

static void gate_on_request(struct evhttp_request *req, void *arg)
{
    struct gate *gate = arg;
    struct gate_connection *c =
        find_gate_connection(evhttp_request_get_connection(req));

    if (c == NULL) {
        reply_header(req, "Connection", "close");
        reply_error(req, 503, "out-of-memory", "");
        return;
    }
    if (c->wrong != 0) {
        c->is_refused = true;
        gate->calls.refused(c->wrong, gate->calls.arg);
        reply_header(req, "Connection", "close");
        reply_error(req, c->wrong, "bad-request",
                    c->wrong == 411 ? "a body needs a Content-Length"
                                    : "the head is not as RFC 9112 has it");
        return;
    }
    c->is_running = true;
    evhttp_request_set_on_complete_cb(req, gate_on_sent, c);
    gate->calls.request(req, gate->calls.arg);
}

/* connections ------------------------------------------------------------- */

static void gate_free_connection(struct gate_connection *c)
{
    socket_peer_leave(c->peer);
    gate_drop_head(c);
    free(c);
}

static void gate_on_closed(struct evhttp_connection *connection, void *arg)
{
    struct gate_connection *c = arg;
    struct gate *gate = c->gate;
    bool was_running = c->is_running;

    gate_set_under_way(c, false);
    table_remove(&connections,
                 table_hash_number(&connections, (uintptr_t)connection),
                 (uintptr_t)c);
    evbuffer_remove_cb(bufferevent_get_input(c->bev), gate_on_input, c);
    gate_free_connection(c);
    if (was_running) {
        gate->calls.ended(gate->calls.arg);
    }
}

void gate_release(struct evhttp_connection *connection)
{
    struct gate_connection *c = find_gate_connection(connection);

    if (c != NULL) {
        c->is_running = false;
    }
}

/* Logs it at most once a minute. */
static void gate_say_share(struct gate *gate, const struct socket_peer *peer)
{
    char name[PEER_NAME_MAX];

    if (gate->said != 0 && clock_since(gate->said) < SAY_MS) {
        return;
    }
    gate->said = clock_ms();
    socket_peer_name(peer, name);
    log_warn(0, "connections of %s are closed: it has its share of the %u that "
                "the limit of descriptors allows", name, socket_peer_places());
}

/*
 * Requests that are not whole have a quarter of the places: the oldest one
 * ends, unless more of it waits to be read.
 */
static void gate_make_room(struct gate *gate)
{
    struct gate_connection *c = TAILQ_FIRST(&gate->under_way);

    if (gate->nunder_way > socket_peer_places() / 4 && !c->is_running &&
        !fd_is_readable(bufferevent_getfd(c->bev))) {
        gate->calls.refused(408, gate->calls.arg);
        evhttp_connection_free(c->connection);
    }
}

/*
 * Takes up a connection that evhttp has made.  Returns false if it cannot be
 * had.  Many that came at once may be over a quarter of the places, and over
 * the share of their address: none ends before its first byte is read.
 */
static bool gate_take_up(struct gate_connection *c)
{
    uintptr_t number = (uintptr_t)c->connection;

    c->peer = socket_peer_enter(bufferevent_getfd(c->bev));
    if (c->peer != NULL && !socket_peer_has_share(c->peer)) {
        gate_make_room(c->gate);
    }
    if (c->peer != NULL && !socket_peer_has_share(c->peer)) {
        gate_say_share(c->gate, c->peer);
        c->gate->calls.refused(503, c->gate->calls.arg);
        return false;
    }
    return c->peer != NULL &&
           table_add(&connections, table_hash_number(&connections, number),
                     (uintptr_t)c) == 0;
}

/* evhttp has made the connections that were accepted: each is the argument of
 * its callbacks.  Without memory there is none. */
static void gate_on_accepted(evutil_socket_t fd, short events, void *arg)
{
    struct gate *gate = arg;
    struct gate_connection *c;
    struct bufferevent *bev;
    void *connection;

    while ((c = TAILQ_FIRST(&gate->fresh)) != NULL) {
        TAILQ_REMOVE(&gate->fresh, c, entry);
        bev = c->bev;
        bufferevent_getcb(bev, NULL, NULL, NULL, &connection);
        c->connection = connection;
        if (connection != NULL && gate_take_up(c)) {
            evhttp_connection_set_closecb(connection, gate_on_closed, c);
            gate_set_under_way(c, true);
            gate_make_room(gate);
        } else {
            evbuffer_remove_cb(bufferevent_get_input(bev), gate_on_input, c);
            if (connection != NULL) {
                evhttp_connection_free(connection);
            }
            gate_free_connection(c);
        }
        bufferevent_decref(bev);
    }
}

/* Called by evhttp for each connection that it accepts. */
static struct bufferevent *gate_on_accept(struct event_base *base, void *arg)
{
    struct gate *gate = arg;
    struct gate_connection *c = calloc(1, sizeof(*c));
    struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

    if (c == NULL || bev == NULL ||
        evbuffer_add_cb(bufferevent_get_input(bev), gate_on_input, c) ==
            NULL) {
        free(c);
        return bev; /* without a gate its requests are refused */
    }
    bufferevent_priority_set(bev, GATE_PRIORITY);
    c->gate = gate;
    c->bev = bev;
    bufferevent_incref(bev); /* until gate_on_accepted(): evhttp may free it */
    TAILQ_INSERT_TAIL(&gate->fresh, c, entry);
    event_active(gate->accepted, 0, 0);
    return bev;
}

/* Answers a request that is late, which evhttp has not got. */
static void gate_refuse_late(struct gate_connection *c)
{
    int status = c->wrong != 0 ? c->wrong : 408;
    char head[128];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %d %s\r\nConnection: close\r\n"
                     "Content-Length: 0\r\n\r\n",
                     status, http_status_text(status));

    (void)send(bufferevent_getfd(c->bev), head, (size_t)n,
               MSG_NOSIGNAL | MSG_DONTWAIT);
    c->gate->calls.refused(status, c->gate->calls.arg);
}

static void gate_on_tick(evutil_socket_t fd, short events, void *arg)
{
    struct gate *gate = arg;
    struct gate_connection *c, *next;

    gate->now = running_clock_ms(&gate->clock);
    for (c = TAILQ_FIRST(&gate->under_way);
         c != NULL && gate->now - c->since > REQUEST_MS; c = next) {
        next = TAILQ_NEXT(c, entry);
        if (c->is_running) {
            continue;
        }
        if (!c->is_refused) {
            gate_refuse_late(c);
        }
        evhttp_connection_free(c->connection);
    }
    if (TAILQ_EMPTY(&gate->under_way)) {
        event_del(gate->tick);
    }
}

struct gate *gate_new(struct event_base *base, struct evhttp *http,
                      const struct gate_calls *calls)
{
    struct gate *gate = calloc(1, sizeof(*gate));

    if (gate == NULL) {
        return NULL;
    }
    gate->calls = *calls;
    TAILQ_INIT(&gate->fresh);
    TAILQ_INIT(&gate->under_way);
    gate->tick = event_new(base, -1, EV_PERSIST, gate_on_tick, gate);
    gate->accepted = event_new(base, -1, 0, gate_on_accepted, gate);
    if (gate->tick == NULL || gate->accepted == NULL) {
        gate_free(gate);
        return NULL;
    }
    evhttp_set_gencb(http, gate_on_request, gate);
    evhttp_set_bevcb(http, gate_on_accept, gate);
    return gate;
}

void gate_free(struct gate *gate)
{
    struct gate_connection *c;

    if (gate == NULL) {
        return;
    }
    while ((c = TAILQ_FIRST(&gate->fresh)) != NULL) {
        TAILQ_REMOVE(&gate->fresh, c, entry);
        bufferevent_decref(c->bev);
        gate_free_connection(c);
    }
    event_drop(gate->tick);
    event_drop(gate->accepted);
    free(gate);
    if (connections.count == 0) {
        table_free(&connections);
    }
}
