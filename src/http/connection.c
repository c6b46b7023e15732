/*
 * Copyright (C) the ngx_symcache authors
 */
#include "connection.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "input_buffer.h"
#include "reply_head.h"

/* The size of the server's input: most requests fit into it as a whole. */
#define INPUT_ROOM 65536

#define INPUT_LEAST 1024

/* The bytes read at a time of a body that goes into a spool. */
#define SPOOL_ROOM (256 * 1024)

/* How long a client may be silent; nginx closes idle connections after 60 s
 * itself. */
#define IDLE_MS 120000

/* How long a head, and a whole request, may take from its first byte on. */
#define HEAD_MS 30000
#define REQUEST_MS 300000

/* How long to read and discard the data of a client that sends on without
 * reading its answer.  If we closed the connection, the client would lose the
 * answer. */
#define LINGER_MS 20000

/* Bytes of inputs that wait for the rest of a request, of all threads. */
static atomic_uint_least64_t receiving;

static void on_event(evutil_socket_t fd, short what, void *arg);

static int socket_of(const struct http_connection *c)
{
    return event_get_fd(&c->event);
}

void http_connection_watch(struct http_connection *c, short what)
{
    int fd = socket_of(c);

    c->wanted = what;
    if (what == c->watched) {
        return;
    }
    event_del(&c->event);
    event_assign(&c->event, c->server->base, fd, what | EV_PERSIST, on_event,
                 c);
    c->watched = what != 0 && event_add(&c->event, NULL) != 0 ? 0 : what;
}

/* input ------------------------------------------------------------------- */

/* Returns false if all connections would have too much together. */
static bool count_input(struct http_connection *c, size_t room)
{
    uint64_t others;

    if (room == c->counted) {
        return true; /* no thread needs to know */
    }
    others = atomic_fetch_add(&receiving, room - c->counted) - c->counted;
    c->counted = room;
    return room == 0 || others == 0 || others + room <= c->server->receiving;
}

static void drop_input(struct http_connection *c)
{
    http_input_free(c->input);
    c->input = NULL;
    count_input(c, 0);
}

/* How much a request needs that is not there yet. */
static size_t room_for(const struct http_connection *c, size_t size)
{
    size_t room = size < INPUT_LEAST / 2 ? INPUT_LEAST : 2 * size;

    if (c->request.spool != NULL) {
        room = c->head_size + SPOOL_ROOM;
    }
    if (c->head_size > 0 && !c->head.is_chunked &&
        room > c->head_size + c->head.length) {
        room = c->head_size + (size_t)c->head.length;
    }
    return room;
}

/*
 * Keeps the rest of the server's input, or the data after a request in its own
 * input, until more comes.  Returns false if it does not fit.
 */
static bool keep_input(struct http_connection *c, struct http_input *in)
{
    size_t size = in->size - in->begin;
    struct http_input *own = NULL;

    if (in != c->input || in->begin > 0) {
        if (!http_input_resize(&own, room_for(c, size))) {
            return false;
        }
        memcpy(own->data, in->data + in->begin, size);
        own->size = size;
        drop_input(c);
        c->input = own;
    }
    if (c->since == 0) {
        c->since = c->server->now;
    }
    return count_input(c, c->input->room);
}

/* life -------------------------------------------------------------------- */

void http_connection_free(struct http_connection *c)
{
    struct http_server *server = c->server;
    int fd = socket_of(c);

    event_del(&c->event);
    close(fd);
    LIST_REMOVE(c, entry);
    http_output_release(&c->output);
    spool_unref(c->request.spool);
    drop_input(c);
    free(c);
    if (LIST_EMPTY(&server->connections) && server->drained != NULL) {
        server->drained(server->drained_arg);
        server->drained = NULL;
    }
}

static void close_connection(struct http_connection *c)
{
    if (c->is_busy) {
        c->is_closed = true;
    } else {
        http_connection_free(c);
    }
}

struct http_connection *http_connection_next(const struct http_connection *c)
{
    return LIST_NEXT(c, entry);
}

void http_connection_new(struct http_server *server, int fd)
{
    struct http_connection *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        close(fd);
        return;
    }
    c->server = server;
    c->active = server->now;
    LIST_INSERT_HEAD(&server->connections, c, entry);
    event_assign(&c->event, server->base, fd, 0, on_event, c);
    http_connection_watch(c, EV_READ);
}

/* The request is over, and the next one may begin. */
static void end_request(struct http_connection *c)
{
    spool_unref(c->request.spool);
    c->request.spool = NULL;
    memset(&c->chunked, 0, sizeof(c->chunked));
    c->seen = 0;
    c->head_size = 0;
    c->since = 0;
    c->fault = 0;
    c->gone = NULL;
    c->is_streamed = false;
    c->reads->begin = c->next;
}

/* All of an answer has been sent. */
static void on_sent(struct http_connection *c)
{
    http_output_release(&c->output);
    if (!c->closes) {
        c->state = READS;
        c->since = c->since != 0 ? c->server->now : 0;
        http_connection_watch(c, EV_READ);
    } else if (c->lingers && !c->server->is_stopping) {
        shutdown(socket_of(c), SHUT_WR);
        c->state = LINGERS;
        c->since = c->server->now;
        http_connection_watch(c, EV_READ);
    } else {
        close_connection(c);
    }
}

static void flush_output(struct http_connection *c)
{
    int rc = http_output_send(&c->output, socket_of(c));

    if (rc == 1) {
        on_sent(c);
    } else if (rc == -1 || !http_output_keep(&c->output, c->server->unsent)) {
        close_connection(c);
    } else {
        c->state = WRITES;
        http_connection_watch(c, EV_WRITE);
    }
}

/* answers ----------------------------------------------------------------- */

/*
 * Sends what is there, from outside take_input().  Further steps run in a turn
 * of their own, because the caller that answers a request still uses its
 * texts.
 */
static void send_on(struct http_connection *c)
{
    c->is_busy = true;
    flush_output(c);
    c->is_busy = false;
    if (c->is_closed || (c->state == READS && c->input != NULL)) {
        event_active(&c->event, EV_TIMEOUT, 0);
    }
}

void http_connection_answered(struct http_connection *c)
{
    c->lingers = c->closes && (c->lingers || c->next < c->reads->size);
    end_request(c);
    if (c->is_busy) {
        flush_output(c);
    } else {
        send_on(c);
    }
}

void http_reply(struct http_request *request, const struct http_reply *reply)
{
    static const struct http_reply failure = {.status = 500};
    struct http_connection *c = (struct http_connection *)request;
    struct http_output_part *body = &c->output.parts[1];
    char head[HTTP_REPLY_HEAD_MAX];
    size_t size;

    c->closes = c->closes || c->server->is_stopping;
    size = http_reply_head(head, reply, c->server->date, HTTP_SIZED, c->closes);
    c->output.parts[0] = (struct http_output_part){.data = head};
    *body = (struct http_output_part){.data = reply->body,
                                      .size = reply->size,
                                      .release = reply->release};
    if (size == 0) {
        size = http_reply_head(head, &failure, c->server->date, HTTP_SIZED,
                               c->closes);
        body->at = body->size;
    }
    if (request->method == HTTP_HEAD) {
        body->at = body->size;
    }
    c->output.parts[0].size = size;
    http_connection_answered(c);
}

/* The connection cannot go on. */
static void refuse_request(struct http_connection *c, int status)
{
    struct http_reply reply = {.status = status};

    if (c->server->refused != NULL) {
        c->server->refused(status, c->server->arg);
    }
    c->request.method = HTTP_OTHER;
    c->closes = c->lingers = true;
    http_reply(&c->request, &reply);
}

/* requests ---------------------------------------------------------------- */

/* Returns 1 when the head is read, 0 when there is not all of it, or a status,
 * negated. */
static int take_head(struct http_connection *c, struct http_input *in)
{
    int size, status;

    while (in->size - in->begin >= 2 &&
           memcmp(in->data + in->begin, "\r\n", 2) == 0) {
        in->begin += 2;
        c->seen = 0;
    }
    size = http_head_find_end(in->data + in->begin, in->size - in->begin,
                              &c->seen);
    if (size <= 0) {
        return size;
    }
    status = http_head_parse(in->data + in->begin, (size_t)size, &c->head);
    c->head_size = (size_t)size;
    return status == 0 ? 1 : -status;
}

/* Creates a spool for the body of a POST to a path for which the server wants
 * one.  Returns false without memory. */
static bool choose_spool(struct http_connection *c, struct http_input *in)
{
    if (c->server->spools != NULL && c->head.method == HTTP_POST &&
        c->server->spools(in->data + in->begin + c->head.path,
                          c->server->arg)) {
        c->request.spool = spool_new();
        return c->request.spool != NULL;
    }
    return true;
}

/* Moves the first bytes of a body into the spool.  Returns false if the request
 * is to be answered as it is. */
static bool spool_body(struct http_connection *c, struct http_input *in,
                       size_t size)
{
    c->next = in->begin + c->head_size;
    if (!http_input_spool(in, c->next, size, c->request.spool)) {
        c->request.state = HTTP_BODY_NO_ROOM;
    } else if (c->request.spool->size > c->server->spooled) {
        c->request.state = HTTP_BODY_TOO_LONG;
    }
    c->request.size = c->request.spool->size;
    return c->request.state == HTTP_BODY_WHOLE;
}

static int take_chunks(struct http_connection *c, struct http_input *in)
{
    size_t at = in->begin + c->head_size, size = in->size - at;
    enum http_chunked_result result;

    result = http_chunked_read(&c->chunked, in->data + at, &size);
    in->size = at + size;
    if (result != HTTP_CHUNKED_MALFORMED && c->request.spool != NULL) {
        size = c->chunked.size;
        c->chunked.size = 0;
        return !spool_body(c, in, size) || result == HTTP_CHUNKED_DONE;
    }
    c->request.size = c->chunked.size;
    c->next = at + c->chunked.size;
    if (result == HTTP_CHUNKED_MALFORMED) {
        return -400;
    }
    if (c->chunked.size > c->server->body) {
        c->request.state = HTTP_BODY_TOO_LONG;
        return 1;
    }
    return result == HTTP_CHUNKED_DONE;
}

static int take_bytes(struct http_connection *c, struct http_input *in)
{
    uint64_t most = c->request.spool != NULL ? c->server->spooled
                                             : c->server->body;
    size_t here = in->size - in->begin - c->head_size;

    c->request.size = c->head.length;
    if (c->head.length > most) {
        c->request.state = HTTP_BODY_TOO_LONG;
        return 1;
    }
    if (c->request.spool != NULL) {
        most = c->head.length - c->request.spool->size;
        return !spool_body(c, in, most < here ? (size_t)most : here) ||
               c->request.size == c->head.length;
    }
    c->next = in->begin + c->head_size + (size_t)c->head.length;
    return c->next <= in->size;
}

/* Tells a client that waits for it to send its body. */
static int invite_body(struct http_connection *c)
{
    c->head.is_awaited = false;
    return http_output_continue(socket_of(c)) ? 0 : -408;
}

/* Returns 1 when there is a request to answer, or as take_head(). */
static int take_request(struct http_connection *c, struct http_input *in)
{
    int rc;

    c->request.state = HTTP_BODY_WHOLE;
    if (c->fault == 503 && c->head_size > 0) {
        c->request.state = HTTP_BODY_NO_ROOM;
        return 1;
    }
    if (c->fault != 0) {
        return -c->fault;
    }
    if (c->head_size == 0) {
        rc = take_head(c, in);
        if (rc <= 0 || !choose_spool(c, in)) {
            return rc <= 0 ? rc : -503;
        }
    }
    rc = c->head.is_chunked ? take_chunks(c, in) : take_bytes(c, in);
    return rc == 0 && c->head.is_awaited ? invite_body(c) : rc;
}

static void begin_request(struct http_connection *c, struct http_input *in)
{
    struct http_request *request = &c->request;
    char *data = in->data + in->begin;

    request->method = c->head.method;
    request->path = data + c->head.path;
    request->query = c->head.query > 0 ? data + c->head.query : NULL;
    request->body = request->spool == NULL ? data + c->head_size : NULL;
    c->closes = c->head.closes;
    if (request->spool != NULL && spool_seal(request->spool) != 0) {
        request->state = HTTP_BODY_NO_ROOM;
    }
    if (request->state != HTTP_BODY_WHOLE) {
        request->body = NULL;
        c->closes = c->lingers = true;
        c->next = in->size;
    }
    count_input(c, 0);
    c->state = RUNS;
    c->server->on_request(request, c->server->arg);
}

/*
 * The data of a request that is incomplete or unanswered stays with the
 * connection; the server gets another input for the next one.
 */
static void settle_request(struct http_connection *c, struct http_input *in)
{
    if (c->is_closed) {
        http_connection_free(c);
    } else if (c->state == RUNS || c->state == STREAMS) {
        if (c->input == NULL) {
            c->input = in;
            c->server->input = NULL;
        }
    } else if (in->begin == in->size || c->state == LINGERS) {
        drop_input(c);
        c->since = c->state == READS ? 0 : c->since;
    } else if (!keep_input(c, in)) {
        c->fault = 503;
        event_active(&c->event, EV_TIMEOUT, 0);
    }
}

/* Answers the complete requests in an input that has grown. */
static void take_input(struct http_connection *c, struct http_input *in)
{
    int rc = 1;

    c->is_busy = true;
    c->reads = in;
    while (rc == 1 && c->state == READS && !c->is_closed) {
        rc = take_request(c, in);
        if (rc == 1) {
            begin_request(c, in);
        } else if (rc < 0) {
            c->next = in->size;
            refuse_request(c, -rc);
        }
    }
    c->is_busy = false;
    settle_request(c, in);
}

/* events ------------------------------------------------------------------ */

/* Makes room for the rest of a request.  Returns false if there is none. */
static bool grow_buffer(struct http_connection *c)
{
    size_t room = room_for(c, c->input->room);

    return count_input(c, room) && http_input_resize(&c->input, room);
}

static void receive_input(struct http_connection *c)
{
    struct http_input **in = c->input != NULL ? &c->input : &c->server->input;
    ssize_t n;

    if (*in == NULL && !http_input_resize(in, INPUT_ROOM)) {
        http_connection_free(c);
        return;
    }
    if (c->input == NULL) {
        (*in)->begin = (*in)->size = 0;
    } else if ((*in)->size == (*in)->room && !grow_buffer(c)) {
        c->fault = 503;
        take_input(c, *in);
        return;
    }
    n = recv(socket_of(c), (*in)->data + (*in)->size,
             (*in)->room - (*in)->size, 0);
    if (n > 0) {
        (*in)->size += (size_t)n;
        c->active = c->server->now;
        take_input(c, *in);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        http_connection_free(c);
    }
}

/*
 * The client sends nothing more, and either reads on or is gone, which looks
 * the same in TCP.  Sending "100 Continue" shows which: a client that is gone
 * answers with a reset, which http_connection_tick() sees.  Other clients skip
 * that status (RFC 9110, 15.2), except those of HTTP/1.0.
 */
static bool may_read_on(const struct http_connection *c)
{
    if (c->is_streamed) {
        return !http_output_is_hung_up(socket_of(c));
    }
    return !c->head.is_http10 && http_output_continue(socket_of(c)) &&
           !http_output_is_hung_up(socket_of(c));
}

void http_connection_leave_request(struct http_connection *c)
{
    c->gone(c->arg); /* it may use the body, which is the connection's */
    http_connection_free(c);
}

/* Is the client still there, whose request runs? */
static void look_at_input(struct http_connection *c)
{
    char byte;
    ssize_t n = recv(socket_of(c), &byte, 1, MSG_PEEK);

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n > 0 || c->gone == NULL || (n == 0 && may_read_on(c))) {
        http_connection_watch(c, 0); /* until the answer */
    } else {
        http_connection_leave_request(c);
    }
}

static void throw_away(struct http_connection *c)
{
    char bytes[16384];
    ssize_t n = recv(socket_of(c), bytes, sizeof(bytes), 0);

    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
        http_connection_free(c);
    }
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct http_connection *c = arg;

    if (c->is_closed) {
        http_connection_free(c);
        return;
    }
    switch (c->state) {
    case READS:
        if ((what & EV_TIMEOUT) == 0) {
            receive_input(c);
        } else if (c->input != NULL) {
            take_input(c, c->input);
        } else if (c->fault != 0) {
            http_connection_free(c);
        }
        break;
    case RUNS:
        look_at_input(c);
        break;
    case STREAMS:
        http_connection_stream(c);
        break;
    case WRITES:
        c->active = c->server->now;
        send_on(c);
        break;
    case LINGERS:
        throw_away(c);
        break;
    }
}

/* Whether it has been so, from a time on that is not 0, for too long. */
static bool is_late(const struct http_connection *c, uint64_t since,
                    uint64_t limit)
{
    return since != 0 && c->server->now - since > limit;
}

void http_connection_tick(struct http_connection *c)
{
    bool is_idle = is_late(c, c->active, IDLE_MS);

    http_connection_watch(c, c->wanted); /* if there was no memory */
    switch (c->state) {
    case READS:
        if (is_late(c, c->since, c->head_size == 0 ? HEAD_MS : REQUEST_MS) ||
            (is_idle && c->since != 0)) {
            c->fault = 408;
            take_input(c, c->input);
        } else if (is_idle) {
            http_connection_free(c);
        }
        break;
    case RUNS:
        if (c->gone != NULL && c->watched == 0 &&
            http_output_is_hung_up(socket_of(c))) {
            http_connection_leave_request(c);
        }
        break;
    case STREAMS:
        if (is_idle) {
            http_connection_leave_request(c);
        }
        break;
    case WRITES:
        if (is_idle) {
            http_connection_free(c);
        }
        break;
    case LINGERS:
        if (is_late(c, c->since, LINGER_MS)) {
            http_connection_free(c);
        }
        break;
    }
}

void http_connection_stop(struct http_connection *c)
{
    c->closes = true;
    if (c->state == READS || c->state == LINGERS) {
        http_connection_free(c);
    }
}

const char *http_request_field(const struct http_request *request,
                               const char *name)
{
    const struct http_connection *c = (const struct http_connection *)request;

    return http_head_find(c->reads->data + c->reads->begin, &c->head, name);
}

void http_request_watch(struct http_request *request,
                        void (*gone)(void *arg), void *arg)
{
    struct http_connection *c = (struct http_connection *)request;

    c->gone = gone;
    c->arg = arg;
    if (gone != NULL && c->state == RUNS) {
        http_connection_watch(c, EV_READ); /* it may have left unwatched */
    }
}

void *http_request_take(struct http_request *request)
{
    struct http_connection *c = (struct http_connection *)request;
    struct http_input *in = http_input_split(&c->input, c->next);

    if (in != NULL) {
        c->reads = c->input;
        c->next = 0;
    }
    return in;
}
