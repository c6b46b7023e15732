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

static int socket_of(const struct http_connection *conn)
{
    return event_get_fd(&conn->event);
}

void http_connection_watch(struct http_connection *conn, short what)
{
    int fd = socket_of(conn);

    conn->wanted = what;
    if (what == conn->watched) {
        return;
    }
    event_del(&conn->event);
    event_assign(&conn->event, conn->server->base, fd, what | EV_PERSIST,
                 on_event, conn);
    conn->watched = what != 0 && event_add(&conn->event, NULL) != 0 ? 0 : what;
}

/* input ------------------------------------------------------------------- */

/* Returns false if all connections would have too much together. */
static bool count_input(struct http_connection *conn, size_t room)
{
    uint64_t others;

    if (room == conn->counted) {
        return true; /* no thread needs to know */
    }
    others =
        atomic_fetch_add(&receiving, room - conn->counted) - conn->counted;
    conn->counted = room;
    return room == 0 || others == 0 ||
           others + room <= conn->server->receiving;
}

static void drop_input(struct http_connection *conn)
{
    http_input_free(conn->input);
    conn->input = NULL;
    count_input(conn, 0);
}

/* How much a request needs that is not there yet. */
static size_t room_for(const struct http_connection *conn, size_t size)
{
    size_t room = size < INPUT_LEAST / 2 ? INPUT_LEAST : 2 * size;

    if (conn->request.spool != NULL) {
        room = conn->head_size + SPOOL_ROOM;
    }
    if (conn->head_size > 0 && !conn->head.is_chunked &&
        room > conn->head_size + conn->head.length) {
        room = conn->head_size + (size_t)conn->head.length;
    }
    return room;
}

/*
 * Keeps the rest of the server's input, or the data after a request in its own
 * input, until more comes.  Returns false if it does not fit.
 */
static bool keep_input(struct http_connection *conn, struct http_input *in)
{
    size_t size = in->size - in->begin;
    struct http_input *own = NULL;

    if (in != conn->input || in->begin > 0) {
        if (!http_input_resize(&own, room_for(conn, size))) {
            return false;
        }
        memcpy(own->data, in->data + in->begin, size);
        own->size = size;
        drop_input(conn);
        conn->input = own;
    }
    if (conn->since == 0) {
        conn->since = conn->server->now;
    }
    return count_input(conn, conn->input->room);
}

/* life -------------------------------------------------------------------- */

void http_connection_free(struct http_connection *conn)
{
    struct http_server *server = conn->server;
    int fd = socket_of(conn);

    event_del(&conn->event);
    close(fd);
    LIST_REMOVE(conn, entry);
    http_output_release(&conn->output);
    spool_unref(conn->request.spool);
    drop_input(conn);
    free(conn);
    if (LIST_EMPTY(&server->connections) && server->drained != NULL) {
        server->drained(server->drained_arg);
        server->drained = NULL;
    }
}

static void close_connection(struct http_connection *conn)
{
    if (conn->is_busy) {
        conn->is_closed = true;
    } else {
        http_connection_free(conn);
    }
}

struct http_connection *
http_connection_next(const struct http_connection *conn)
{
    return LIST_NEXT(conn, entry);
}

void http_connection_new(struct http_server *server, int fd)
{
    struct http_connection *conn = calloc(1, sizeof(*conn));

    if (conn == NULL) {
        close(fd);
        return;
    }
    conn->server = server;
    conn->active = server->now;
    LIST_INSERT_HEAD(&server->connections, conn, entry);
    event_assign(&conn->event, server->base, fd, 0, on_event, conn);
    http_connection_watch(conn, EV_READ);
}

/* The request is over, and the next one may begin. */
static void end_request(struct http_connection *conn)
{
    spool_unref(conn->request.spool);
    conn->request.spool = NULL;
    memset(&conn->chunked, 0, sizeof(conn->chunked));
    conn->seen = 0;
    conn->head_size = 0;
    conn->since = 0;
    conn->fault = 0;
    conn->gone = NULL;
    conn->is_streamed = false;
    conn->reads->begin = conn->next;
}

/* All of an answer has been sent. */
static void on_sent(struct http_connection *conn)
{
    http_output_release(&conn->output);
    if (!conn->closes) {
        conn->state = READS;
        conn->since = conn->since != 0 ? conn->server->now : 0;
        http_connection_watch(conn, EV_READ);
    } else if (conn->lingers && !conn->server->is_stopping) {
        shutdown(socket_of(conn), SHUT_WR);
        conn->state = LINGERS;
        conn->since = conn->server->now;
        http_connection_watch(conn, EV_READ);
    } else {
        close_connection(conn);
    }
}

static void flush_output(struct http_connection *conn)
{
    int rc = http_output_send(&conn->output, socket_of(conn));

    if (rc == 1) {
        on_sent(conn);
    } else if (rc == -1 ||
               !http_output_keep(&conn->output, conn->server->unsent)) {
        close_connection(conn);
    } else {
        conn->state = WRITES;
        http_connection_watch(conn, EV_WRITE);
    }
}

/* answers ----------------------------------------------------------------- */

/*
 * Sends what is there, from outside take_input().  Further steps run in a turn
 * of their own, because the caller that answers a request still uses its
 * texts.
 */
static void send_on(struct http_connection *conn)
{
    conn->is_busy = true;
    flush_output(conn);
    conn->is_busy = false;
    if (conn->is_closed || (conn->state == READS && conn->input != NULL)) {
        event_active(&conn->event, EV_TIMEOUT, 0);
    }
}

void http_connection_answered(struct http_connection *conn)
{
    conn->lingers =
        conn->closes && (conn->lingers || conn->next < conn->reads->size);
    end_request(conn);
    if (conn->is_busy) {
        flush_output(conn);
    } else {
        send_on(conn);
    }
}

void http_reply(struct http_request *request, const struct http_reply *reply)
{
    static const struct http_reply failure = {.status = 500};
    struct http_connection *conn = (struct http_connection *)request;
    struct http_output_part *body = &conn->output.parts[1];
    char head[HTTP_REPLY_HEAD_MAX];
    size_t size;

    conn->closes = conn->closes || conn->server->is_stopping;
    size = http_reply_head(head, reply, conn->server->date, HTTP_SIZED,
                           conn->closes);
    conn->output.parts[0] = (struct http_output_part){.data = head};
    *body = (struct http_output_part){.data = reply->body,
                                      .size = reply->size,
                                      .release = reply->release};
    if (size == 0) {
        size = http_reply_head(head, &failure, conn->server->date, HTTP_SIZED,
                               conn->closes);
        body->at = body->size;
    }
    if (request->method == HTTP_HEAD) {
        body->at = body->size;
    }
    conn->output.parts[0].size = size;
    http_connection_answered(conn);
}

/* The connection cannot go on. */
static void refuse_request(struct http_connection *conn, int status)
{
    struct http_reply reply = {.status = status};

    if (conn->server->refused != NULL) {
        conn->server->refused(status, conn->server->arg);
    }
    conn->request.method = HTTP_OTHER;
    conn->closes = conn->lingers = true;
    http_reply(&conn->request, &reply);
}

/* requests ---------------------------------------------------------------- */

/* Returns 1 when the head is read, 0 when there is not all of it, or a status,
 * negated. */
static int take_head(struct http_connection *conn, struct http_input *in)
{
    int size, status;

    while (in->size - in->begin >= 2 &&
           memcmp(in->data + in->begin, "\r\n", 2) == 0) {
        in->begin += 2;
        conn->seen = 0;
    }
    size = http_head_find_end(in->data + in->begin, in->size - in->begin,
                              &conn->seen);
    if (size <= 0) {
        return size;
    }
    status = http_head_parse(in->data + in->begin, (size_t)size, &conn->head);
    conn->head_size = (size_t)size;
    return status == 0 ? 1 : -status;
}

/* Creates a spool for the body of a POST to a path for which the server wants
 * one.  Returns false without memory. */
static bool choose_spool(struct http_connection *conn, struct http_input *in)
{
    if (conn->server->spools != NULL && conn->head.method == HTTP_POST &&
        conn->server->spools(in->data + in->begin + conn->head.path,
                             conn->server->arg)) {
        conn->request.spool = spool_new();
        return conn->request.spool != NULL;
    }
    return true;
}

/* Moves the first bytes of a body into the spool.  Returns false if the request
 * is to be answered as it is. */
static bool spool_body(struct http_connection *conn, struct http_input *in,
                       size_t size)
{
    conn->next = in->begin + conn->head_size;
    if (!http_input_spool(in, conn->next, size, conn->request.spool)) {
        conn->request.state = HTTP_BODY_NO_ROOM;
    } else if (conn->request.spool->size > conn->server->spooled) {
        conn->request.state = HTTP_BODY_TOO_LONG;
    }
    conn->request.size = conn->request.spool->size;
    return conn->request.state == HTTP_BODY_WHOLE;
}

static int take_chunks(struct http_connection *conn, struct http_input *in)
{
    size_t at = in->begin + conn->head_size, size = in->size - at;
    enum http_chunked_result result;

    result = http_chunked_read(&conn->chunked, in->data + at, &size);
    in->size = at + size;
    if (result != HTTP_CHUNKED_MALFORMED && conn->request.spool != NULL) {
        size = conn->chunked.size;
        conn->chunked.size = 0;
        return !spool_body(conn, in, size) || result == HTTP_CHUNKED_DONE;
    }
    conn->request.size = conn->chunked.size;
    conn->next = at + conn->chunked.size;
    if (result == HTTP_CHUNKED_MALFORMED) {
        return -400;
    }
    if (conn->chunked.size > conn->server->body) {
        conn->request.state = HTTP_BODY_TOO_LONG;
        return 1;
    }
    return result == HTTP_CHUNKED_DONE;
}

static int take_bytes(struct http_connection *conn, struct http_input *in)
{
    uint64_t most = conn->request.spool != NULL ? conn->server->spooled
                                                : conn->server->body;
    size_t here = in->size - in->begin - conn->head_size;

    conn->request.size = conn->head.length;
    if (conn->head.length > most) {
        conn->request.state = HTTP_BODY_TOO_LONG;
        return 1;
    }
    if (conn->request.spool != NULL) {
        most = conn->head.length - conn->request.spool->size;
        return !spool_body(conn, in, most < here ? (size_t)most : here) ||
               conn->request.size == conn->head.length;
    }
    conn->next = in->begin + conn->head_size + (size_t)conn->head.length;
    return conn->next <= in->size;
}

/* Tells a client that waits for it to send its body. */
static int invite_body(struct http_connection *conn)
{
    conn->head.is_awaited = false;
    return http_output_continue(socket_of(conn)) ? 0 : -408;
}

/* Returns 1 when there is a request to answer, or as take_head(). */
static int take_request(struct http_connection *conn, struct http_input *in)
{
    int rc;

    conn->request.state = HTTP_BODY_WHOLE;
    if (conn->fault == 503 && conn->head_size > 0) {
        conn->request.state = HTTP_BODY_NO_ROOM;
        return 1;
    }
    if (conn->fault != 0) {
        return -conn->fault;
    }
    if (conn->head_size == 0) {
        rc = take_head(conn, in);
        if (rc <= 0 || !choose_spool(conn, in)) {
            return rc <= 0 ? rc : -503;
        }
    }
    rc = conn->head.is_chunked ? take_chunks(conn, in) : take_bytes(conn, in);
    return rc == 0 && conn->head.is_awaited ? invite_body(conn) : rc;
}

static void begin_request(struct http_connection *conn, struct http_input *in)
{
    struct http_request *request = &conn->request;
    char *data = in->data + in->begin;

    request->method = conn->head.method;
    request->path = data + conn->head.path;
    request->query = conn->head.query > 0 ? data + conn->head.query : NULL;
    request->body = request->spool == NULL ? data + conn->head_size : NULL;
    conn->closes = conn->head.closes;
    if (request->spool != NULL && spool_seal(request->spool) != 0) {
        request->state = HTTP_BODY_NO_ROOM;
    }
    if (request->state != HTTP_BODY_WHOLE) {
        request->body = NULL;
        conn->closes = conn->lingers = true;
        conn->next = in->size;
    }
    count_input(conn, 0);
    conn->state = RUNS;
    conn->server->on_request(request, conn->server->arg);
}

/*
 * The data of a request that is incomplete or unanswered stays with the
 * connection; the server gets another input for the next one.
 */
static void settle_request(struct http_connection *conn, struct http_input *in)
{
    if (conn->is_closed) {
        http_connection_free(conn);
    } else if (conn->state == RUNS || conn->state == STREAMS) {
        if (conn->input == NULL) {
            conn->input = in;
            conn->server->input = NULL;
        }
    } else if (in->begin == in->size || conn->state == LINGERS) {
        drop_input(conn);
        conn->since = conn->state == READS ? 0 : conn->since;
    } else if (!keep_input(conn, in)) {
        conn->fault = 503;
        event_active(&conn->event, EV_TIMEOUT, 0);
    }
}

/* Answers the complete requests in an input that has grown. */
static void take_input(struct http_connection *conn, struct http_input *in)
{
    int rc = 1;

    conn->is_busy = true;
    conn->reads = in;
    while (rc == 1 && conn->state == READS && !conn->is_closed) {
        rc = take_request(conn, in);
        if (rc == 1) {
            begin_request(conn, in);
        } else if (rc < 0) {
            conn->next = in->size;
            refuse_request(conn, -rc);
        }
    }
    conn->is_busy = false;
    settle_request(conn, in);
}

/* events ------------------------------------------------------------------ */

/* Makes room for the rest of a request.  Returns false if there is none. */
static bool grow_buffer(struct http_connection *conn)
{
    size_t room = room_for(conn, conn->input->room);

    return count_input(conn, room) && http_input_resize(&conn->input, room);
}

static void receive_input(struct http_connection *conn)
{
    struct http_input **in =
        conn->input != NULL ? &conn->input : &conn->server->input;
    ssize_t n;

    if (*in == NULL && !http_input_resize(in, INPUT_ROOM)) {
        http_connection_free(conn);
        return;
    }
    if (conn->input == NULL) {
        (*in)->begin = (*in)->size = 0;
    } else if ((*in)->size == (*in)->room && !grow_buffer(conn)) {
        conn->fault = 503;
        take_input(conn, *in);
        return;
    }
    n = recv(socket_of(conn), (*in)->data + (*in)->size,
             (*in)->room - (*in)->size, 0);
    if (n > 0) {
        (*in)->size += (size_t)n;
        conn->active = conn->server->now;
        take_input(conn, *in);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        http_connection_free(conn);
    }
}

/*
 * The client sends nothing more, and either reads on or is gone, which looks
 * the same in TCP.  Sending "100 Continue" shows which: a client that is gone
 * answers with a reset, which http_connection_tick() sees.  Other clients skip
 * that status (RFC 9110, 15.2), except those of HTTP/1.0.
 */
static bool may_read_on(const struct http_connection *conn)
{
    if (conn->is_streamed) {
        return !http_output_is_hung_up(socket_of(conn));
    }
    return !conn->head.is_http10 && http_output_continue(socket_of(conn)) &&
           !http_output_is_hung_up(socket_of(conn));
}

void http_connection_leave_request(struct http_connection *conn)
{
    conn->gone(conn->arg); /* it may use the body, which is the connection's */
    http_connection_free(conn);
}

/* Is the client still there, whose request runs? */
static void look_at_input(struct http_connection *conn)
{
    char byte;
    ssize_t n = recv(socket_of(conn), &byte, 1, MSG_PEEK);

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n > 0 || conn->gone == NULL || (n == 0 && may_read_on(conn))) {
        http_connection_watch(conn, 0); /* until the answer */
    } else {
        http_connection_leave_request(conn);
    }
}

static void throw_away(struct http_connection *conn)
{
    char bytes[16384];
    ssize_t n = recv(socket_of(conn), bytes, sizeof(bytes), 0);

    if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR)) {
        http_connection_free(conn);
    }
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct http_connection *conn = arg;

    if (conn->is_closed) {
        http_connection_free(conn);
        return;
    }
    switch (conn->state) {
    case READS:
        if ((what & EV_TIMEOUT) == 0) {
            receive_input(conn);
        } else if (conn->input != NULL) {
            take_input(conn, conn->input);
        } else if (conn->fault != 0) {
            http_connection_free(conn);
        }
        break;
    case RUNS:
        look_at_input(conn);
        break;
    case STREAMS:
        http_connection_stream(conn);
        break;
    case WRITES:
        conn->active = conn->server->now;
        send_on(conn);
        break;
    case LINGERS:
        throw_away(conn);
        break;
    }
}

/* Whether it has been so, from a time on that is not 0, for too long. */
static bool is_late(const struct http_connection *conn, uint64_t since,
                    uint64_t limit)
{
    return since != 0 && conn->server->now - since > limit;
}

void http_connection_tick(struct http_connection *conn)
{
    bool is_idle = is_late(conn, conn->active, IDLE_MS);

    http_connection_watch(conn, conn->wanted); /* if there was no memory */
    switch (conn->state) {
    case READS:
        if (is_late(conn, conn->since,
                    conn->head_size == 0 ? HEAD_MS : REQUEST_MS) ||
            (is_idle && conn->since != 0)) {
            conn->fault = 408;
            take_input(conn, conn->input);
        } else if (is_idle) {
            http_connection_free(conn);
        }
        break;
    case RUNS:
        if (conn->gone != NULL && conn->watched == 0 &&
            http_output_is_hung_up(socket_of(conn))) {
            http_connection_leave_request(conn);
        }
        break;
    case STREAMS:
        if (is_idle) {
            http_connection_leave_request(conn);
        }
        break;
    case WRITES:
        if (is_idle) {
            http_connection_free(conn);
        }
        break;
    case LINGERS:
        if (is_late(conn, conn->since, LINGER_MS)) {
            http_connection_free(conn);
        }
        break;
    }
}

void http_connection_stop(struct http_connection *conn)
{
    conn->closes = true;
    if (conn->state == READS || conn->state == LINGERS) {
        http_connection_free(conn);
    }
}

const char *http_request_field(const struct http_request *request,
                               const char *name)
{
    const struct http_connection *conn =
        (const struct http_connection *)request;

    return http_head_find(conn->reads->data + conn->reads->begin, &conn->head,
                          name);
}

void http_request_watch(struct http_request *request,
                        void (*gone)(void *arg), void *arg)
{
    struct http_connection *conn = (struct http_connection *)request;

    conn->gone = gone;
    conn->arg = arg;
    if (gone != NULL && conn->state == RUNS) {
        http_connection_watch(conn, EV_READ); /* it may have left unwatched */
    }
}

void *http_request_take(struct http_request *request)
{
    struct http_connection *conn = (struct http_connection *)request;
    struct http_input *in = http_input_split(&conn->input, conn->next);

    if (in != NULL) {
        conn->reads = conn->input;
        conn->next = 0;
    }
    return in;
}
