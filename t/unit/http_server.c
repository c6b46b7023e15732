/*
 * Copyright (C) the ngx_symcache authors
 *
 * The server of HTTP: answers are the same and in order however requests come
 * in, are answered now or later, and are taken; and nobody holds a connection
 * for ever.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "http/connection.h"
#include "http/http.h"

#define HOST "Host: h\r\n\r\n"

struct fixture {
    struct event_base *base;
    struct http_server *server;
    int listener;
    int client;
    struct http_request *later; /* a request to /later */
    struct http_request *parts; /* the same to /parts */
    unsigned nparts;            /* that were sent */
    unsigned gone;
    unsigned drained;
    char text[4096]; /* what the client has read */
    size_t size;
};

static size_t large; /* bytes of the answer to /large */
static unsigned released;
static char copied[1000000]; /* the answer to /copied */

static bool no_memory; /* to watch sockets */

/* In place of the C library's, for libevent. */
int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    if (no_memory && op != EPOLL_CTL_DEL) {
        errno = ENOMEM;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epfd, op, fd, event);
}

static void on_release(char *body, size_t size)
{
    assert_int_equal(size, large);
    released++;
    free(body);
}

static void on_gone(void *arg)
{
    struct fixture *f = arg;

    f->gone++;
    f->later = NULL;
}

static void on_drained(void *arg)
{
    struct fixture *f = arg;

    f->drained++;
}

/* Answers with the path, the field X and the body. */
static void answer(struct http_request *request)
{
    const char *x = http_request_field(request, "X");
    char text[1024];
    struct http_reply reply = {.status = 200, .body = text};

    reply.size = (size_t)snprintf(
        text, sizeof(text), "[%s %s %s %.*s]", request->path,
        request->query != NULL ? request->query : "-", x != NULL ? x : "-",
        request->state == HTTP_BODY_WHOLE ? (int)request->size : 0,
        request->body);
    if (request->state != HTTP_BODY_WHOLE) {
        reply.status = request->state == HTTP_BODY_TOO_LONG ? 413 : 503;
    }
    http_reply(request, &reply);
}

/* Three parts, the second of which is large. */
static void on_part(void *arg)
{
    struct fixture *f = arg;
    struct http_reply part = {.status = 200, .type = "text/x"};

    if (f->nparts == 3) {
        http_reply_end(f->parts);
        return;
    }
    part.body = f->nparts == 1 ? copied : "part";
    part.size = f->nparts == 1 ? sizeof(copied) : 4;
    f->nparts++;
    http_reply_part(f->parts, &part, on_part, f);
}

static void on_request(struct http_request *request, void *arg)
{
    struct fixture *f = arg;
    struct http_reply reply = {.status = 200, .release = on_release};

    if (strcmp(request->path, "/later") == 0) {
        f->later = request;
        http_request_watch(request, on_gone, f);
    } else if (strcmp(request->path, "/parts") == 0) {
        f->parts = request;
        f->nparts = 0;
        http_request_watch(request, on_gone, f);
        on_part(f);
    } else if (strcmp(request->path, "/large") == 0) {
        reply.size = large;
        reply.body = calloc(1, large);
        http_reply(request, &reply);
    } else if (strcmp(request->path, "/copied") == 0) {
        reply = (struct http_reply){
            .status = 200, .body = copied, .size = sizeof(copied)};
        http_reply(request, &reply);
    } else {
        answer(request);
    }
}

static void turn(struct fixture *f)
{
    ssize_t n;
    int i;

    for (i = 0; i < 4; i++) {
        event_base_loop(f->base, EVLOOP_NONBLOCK);
    }
    n = recv(f->client, f->text + f->size, sizeof(f->text) - 1 - f->size,
             MSG_DONTWAIT);
    f->size += n > 0 ? (size_t)n : 0;
    f->text[f->size] = '\0';
}

static void connect_client(struct fixture *f)
{
    int pair[2], room = 65536;

    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    f->client = pair[0];
    f->size = 0;
    http_connection_new(f->server, pair[1]);
}

static void disconnect_client(struct fixture *f)
{
    close(f->client);
    f->client = -1;
    event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void say(struct fixture *f, const char *text, size_t size)
{
    assert_int_equal(send(f->client, text, size, MSG_NOSIGNAL), size);
    turn(f);
}

static void say_text(struct fixture *f, const char *text)
{
    say(f, text, strlen(text));
}

/* So many seconds later. */
static void wait_for(struct fixture *f, unsigned seconds)
{
    struct http_connection *c = LIST_FIRST(&f->server->connections), *next;

    f->server->now += seconds * 1000;
    for (; c != NULL; c = next) {
        next = http_connection_next(c);
        http_connection_tick(c);
    }
    turn(f);
}

static bool is_connected(const struct fixture *f)
{
    return !LIST_EMPTY(&f->server->connections);
}

/* The bodies of the answers. */
static const char *bodies(struct fixture *f)
{
    static char out[sizeof(f->text)];
    char *p = f->text, *to = out;
    size_t n;

    while ((p = strstr(p, "Content-Length: ")) != NULL) {
        n = strtoul(p + 16, NULL, 10);
        p = strstr(p, "\r\n\r\n") + 4;
        if (p + n > f->text + f->size) {
            return "cut short";
        }
        memcpy(to, p, n);
        to += n;
        p += n;
    }
    *to = '\0';
    return out;
}

static int setup(void **state)
{
    static const struct sockaddr_un any = {.sun_family = AF_UNIX};
    struct fixture *f = calloc(1, sizeof(*f));

    f->base = event_base_new();
    f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    bind(f->listener, (const struct sockaddr *)&any, sizeof(any.sun_family));
    listen(f->listener, 1);
    f->server = http_server_new(f->base, f->listener, on_request, f);
    http_server_limit(f->server, 100000, 301000, 2000000);
    connect_client(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    http_server_free(f->server);
    event_base_free(f->base);
    close(f->listener);
    close(f->client);
    free(f);
    return 0;
}

static const char stream[] =
    "GET /1?a HTTP/1.1\r\nX: x1\r\n" HOST "\r\n"
    "POST /2 HTTP/1.1\r\nContent-Length: 5\r\n" HOST "body2"
    "POST /3 HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX: x3\r\n" HOST
    "2\r\nbo\r\n3;x\r\ndy3\r\n0\r\nT: t\r\n\r\n"
    "POST /later HTTP/1.1\r\nContent-Length: 5\r\nX: x4\r\n" HOST "body4"
    "GET /5 HTTP/1.1\r\n" HOST
    "GET /6 HTTP/1.1\r\nConnection: close\r\n" HOST;

static void check_stream(struct fixture *f, size_t step)
{
    size_t at, n;

    for (at = 0; at < sizeof(stream) - 1; at += n) {
        n = sizeof(stream) - 1 - at < step ? sizeof(stream) - 1 - at : step;
        say(f, stream + at, n);
        if (f->later != NULL && at % 3 == 0) {
            answer(f->later);
            f->later = NULL;
            turn(f);
        }
    }
    if (f->later != NULL) {
        answer(f->later);
        f->later = NULL;
        turn(f);
    }
    assert_string_equal(bodies(f), "[/1 a x1 ][/2 - - body2][/3 - x3 body3]"
                                   "[/later - x4 body4][/5 - - ][/6 - - ]");
    assert_false(is_connected(f));
    assert_int_equal(f->gone, 0);
}

static void streams(void **state)
{
    struct fixture *f = *state;
    size_t step;

    for (step = 1; step < sizeof(stream); step++) {
        check_stream(f, step);
        close(f->client);
        connect_client(f);
    }
}

static void gone(void **state)
{
    struct fixture *f = *state;

    say_text(f, "GET /later HTTP/1.1\r\n" HOST);
    assert_non_null(f->later);
    wait_for(f, 1000); /* the limit is who answers' */
    assert_true(is_connected(f));
    disconnect_client(f);
    assert_int_equal(f->gone, 1);
    assert_false(is_connected(f));
}

/* Its connection stays while it is not watched: somebody reads its texts. */
static void gone_unwatched(void **state)
{
    struct fixture *f = *state;

    say_text(f, "GET /later HTTP/1.1\r\n" HOST);
    http_request_watch(f->later, NULL, NULL);
    disconnect_client(f);
    wait_for(f, 1);
    assert_true(is_connected(f));
    assert_string_equal(f->later->path, "/later");
    http_request_watch(f->later, on_gone, f);
    turn(f);
    assert_int_equal(f->gone, 1);
    assert_false(is_connected(f));
}

static void watched_without_memory(void **state)
{
    struct fixture *f = *state;

    say_text(f, "GET /later HTTP/1.1\r\n" HOST);
    say_text(f, "GET /1 HTTP/1.1\r\n" HOST); /* not watched until the answer */
    no_memory = true;
    http_reply(f->later, &(struct http_reply){.status = 200});
    turn(f);
    no_memory = false;
    assert_string_equal(bodies(f), "");
    wait_for(f, 1);
    assert_string_equal(bodies(f), "[/1 - - ]");
}

static void half_closed(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(send(f->client, "GET /1 HTTP/1.1\r\n" HOST, 28, 0), 28);
    shutdown(f->client, SHUT_WR);
    turn(f);
    assert_string_equal(bodies(f), "[/1 - - ]");
    assert_false(is_connected(f));
}

/* A client that has sent all that it wants to send waits for its answer. */
static void half_closed_later(void **state)
{
    struct fixture *f = *state;

    say_text(f, "GET /later HTTP/1.1\r\n" HOST);
    shutdown(f->client, SHUT_WR);
    turn(f);
    wait_for(f, 1);
    assert_int_equal(f->gone, 0);
    assert_non_null(f->later);
    answer(f->later);
    turn(f);
    assert_non_null(strstr(f->text, "\r\n\r\n[/later - - ]"));
    assert_false(is_connected(f));

    connect_client(f); /* one that is gone after all */
    say_text(f, "GET /later HTTP/1.1\r\n" HOST);
    shutdown(f->client, SHUT_WR);
    turn(f);
    assert_int_equal(f->gone, 0);
    close(f->client);
    wait_for(f, 1);
    assert_int_equal(f->gone, 1);
    assert_false(is_connected(f));

    connect_client(f); /* one that cannot be asked */
    say_text(f, "GET /later HTTP/1.0\r\n" HOST);
    shutdown(f->client, SHUT_WR);
    turn(f);
    assert_int_equal(f->gone, 2);
    assert_false(is_connected(f));
}

/* seconds until a client that has sent this is left */
static void check_timeout(struct fixture *f, const char *text,
                          unsigned seconds, const char *answer)
{
    say_text(f, text);
    f->size = 0;
    wait_for(f, seconds - 1);
    assert_true(is_connected(f));
    assert_int_equal(f->size, 0);
    wait_for(f, 2);
    if (answer != NULL) {
        assert_int_equal(strncmp(f->text, answer, strlen(answer)), 0);
        wait_for(f, 21); /* it lingers */
    }
    assert_false(is_connected(f));
    close(f->client);
    connect_client(f);
}

static void timeouts(void **state)
{
    struct fixture *f = *state;
    static const char late[] = "HTTP/1.1 408 ";
    unsigned i;

    check_timeout(f, "", 120, NULL);
    check_timeout(f, "GET /1 HTTP/1.1\r\n" HOST, 120, NULL);
    check_timeout(f, "\r\n", 120, NULL);
    check_timeout(f, "G", 30, late);
    check_timeout(f, "GET /1 HTTP/1.1\r\n" HOST "G", 30, late);
    check_timeout(f, "POST / HTTP/1.1\r\nContent-Length: 5\r\n" HOST "1", 120,
                  late);
    say_text(f, "POST / HTTP/1.1\r\nContent-Length: 999\r\n" HOST);
    for (i = 0; i < 10; i++) {
        assert_int_equal(f->size, 0);
        say_text(f, "1");
        wait_for(f, 31);
    }
    assert_int_equal(strncmp(f->text, late, strlen(late)), 0);
}

static void not_taken(void **state)
{
    struct fixture *f = *state;

    large = 10000000;
    released = 0;
    say_text(f, "HEAD /large HTTP/1.1\r\n" HOST);
    assert_int_equal(released, 1);
    assert_non_null(strstr(f->text, "Content-Length: 10000000\r\n"));
    say_text(f, "GET /large HTTP/1.1\r\n" HOST "GET /2 HTTP/1.1\r\n" HOST);
    assert_int_equal(released, 1);
    wait_for(f, 119);
    assert_int_equal(released, 1);
    f->size = 0;
    turn(f); /* some of it is taken */
    wait_for(f, 121);
    assert_int_equal(released, 2);
    assert_false(is_connected(f));
}

/* Answers that are copied, since those who write them keep their buffers. */
static void not_taken_copies(void **state)
{
    struct fixture *f = *state;
    int clients[4], i, left = 0;
    struct http_connection *c;

    for (i = 0; i < 4; i++) {
        say_text(f, "GET /copied HTTP/1.1\r\n" HOST);
        clients[i] = f->client;
        connect_client(f);
    }
    for (c = LIST_FIRST(&f->server->connections); c != NULL;
         c = http_connection_next(c)) {
        left++;
    }
    assert_int_equal(left, 2 + 1); /* and one that is idle */
    for (i = 0; i < 4; i++) {
        close(clients[i]);
    }
    turn(f);
    say_text(f, "GET /copied HTTP/1.1\r\n" HOST);
    assert_int_equal(strncmp(f->text, "HTTP/1.1 200 ", 13), 0);
    assert_true(is_connected(f));
}

/* Reads all that is there, of which only the end is kept. */
static size_t take_all(struct fixture *f)
{
    size_t size = 0, n;

    do {
        f->size = 0;
        turn(f);
        n = f->size;
        size += n;
    } while (n > 0);
    return size;
}

static void parts(void **state)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\n";
    struct fixture *f = *state;
    size_t size;

    say_text(f, "GET /parts HTTP/1.1\r\n" HOST "GET /2 HTTP/1.1\r\n" HOST);
    assert_int_equal(strncmp(f->text, head, sizeof(head) - 1), 0);
    assert_non_null(strstr(f->text, "\r\nTransfer-Encoding: chunked\r\n"));
    assert_null(strstr(f->text, "Content-Length"));
    assert_non_null(strstr(f->text, "\r\n\r\n4\r\npart\r\nf4240\r\n"));
    assert_int_equal(f->nparts, 2); /* the client has not taken it */
    size = take_all(f);
    assert_true(size > sizeof(copied) - sizeof(f->text) && f->nparts == 3);
    assert_true(is_connected(f));
    assert_int_equal(f->gone, 0);

    say_text(f, "GET /parts HTTP/1.0\r\n\r\n");
    assert_null(strstr(f->text, "chunked"));
    assert_non_null(strstr(f->text, "Connection: close\r\n\r\npart"));
    take_all(f);
    assert_int_equal(f->nparts, 3);
    assert_false(is_connected(f));
}

/* The rest of a read is short enough to be kept. */
static void parts_end(void **state)
{
    struct fixture *f = *state;
    static const char end[] = "\r\n4\r\npart\r\n0\r\n\r\nHTTP/1.1 200";
    static char text[sizeof(copied) + 1000];
    size_t size = 0;
    ssize_t n;
    int i;

    static const char requests[] =
        "GET /parts HTTP/1.1\r\n" HOST "GET /2 HTTP/1.1\r\n" HOST;

    assert_true(send(f->client, requests, sizeof(requests) - 1, 0) > 0);
    for (i = 0; i < 1000; i++) {
        event_base_loop(f->base, EVLOOP_NONBLOCK);
        n = recv(f->client, text + size, sizeof(text) - size, MSG_DONTWAIT);
        size += n > 0 ? (size_t)n : 0;
    }
    assert_non_null(memmem(text, size, end, sizeof(end) - 1));
    assert_memory_equal(text + size - 9, "[/2 - - ]", 9);
}

static void parts_not_taken(void **state)
{
    struct fixture *f = *state;

    say_text(f, "GET /parts HTTP/1.1\r\n" HOST);
    wait_for(f, 119); /* takes some of it */
    assert_true(is_connected(f));
    assert_int_equal(f->nparts, 2);
    wait_for(f, 1);
    close(f->client);
    turn(f);
    assert_int_equal(f->gone, 1);
    assert_false(is_connected(f));

    connect_client(f);
    say_text(f, "GET /parts HTTP/1.1\r\n" HOST);
    f->server->now += 121000;
    http_connection_tick(LIST_FIRST(&f->server->connections));
    assert_int_equal(f->gone, 2);
    assert_false(is_connected(f));

    connect_client(f);
    say_text(f, "GET /parts HTTP/1.1\r\n" HOST);
    http_reply_abort(f->parts);
    assert_int_equal(f->gone, 2); /* who ended it knows */
    assert_false(is_connected(f));
}

/* Who sends on, whatever we say, is heard for a while, and has its answer. */
static void too_long(void **state)
{
    struct fixture *f = *state;
    static char text[200000];
    size_t at;

    say_text(f, "POST /1 HTTP/1.1\r\nContent-Length: 100001\r\n" HOST);
    assert_int_equal(strncmp(f->text, "HTTP/1.1 413 ", 13), 0);
    for (at = 0; at < sizeof(text); at += 20000) {
        say(f, text + at, 20000);
    }
    assert_string_equal(bodies(f), "[/1 - - ]");
    assert_true(is_connected(f));
    wait_for(f, 21);
    assert_false(is_connected(f));
    close(f->client);
    connect_client(f);
    say_text(f, "POST /1 HTTP/1.1\r\nExpect: 100-continue\r\n"
                "Content-Length: 99999999999999999999\r\n" HOST);
    assert_int_equal(strncmp(f->text, "HTTP/1.1 413 ", 13), 0);
    close(f->client);
    turn(f);
    assert_false(is_connected(f));
}

static void invited(void **state)
{
    struct fixture *f = *state;

    say_text(f, "POST /1 HTTP/1.1\r\nExpect: 100-continue\r\n"
                "Content-Length: 1\r\n" HOST);
    assert_string_equal(f->text, "HTTP/1.1 100 Continue\r\n\r\n");
    say_text(f, "b");
    assert_string_equal(bodies(f), "[/1 - - b]");
    assert_int_equal(strncmp(f->text + 25, "HTTP/1.1 200 OK\r\n", 17), 0);
}

static void no_room(void **state)
{
    struct fixture *f = *state;
    static char text[99000];
    int clients[4], i;

    for (i = 0; i < 4; i++) {
        say_text(f, "POST /1 HTTP/1.1\r\nContent-Length: 100000\r\n" HOST);
        say(f, text, sizeof(text));
        assert_int_equal(f->size > 0, i == 3);
        clients[i] = f->client;
        connect_client(f);
    }
    close(clients[0]);
    turn(f);
    f->client = clients[1];
    say(f, text, 1000);
    assert_int_equal(strncmp(f->text, "HTTP/1.1 200 ", 13), 0);
    close(clients[2]);
    close(clients[3]);
}

static void stop(void **state)
{
    struct fixture *f = *state;

    connect_client(f); /* the first one is idle, this one waits */
    say_text(f, "GET /later HTTP/1.1\r\n" HOST);
    http_server_stop(f->server, on_drained, f);
    assert_int_equal(f->drained, 0);
    answer(f->later);
    turn(f);
    assert_non_null(strstr(f->text, "Connection: close\r\n"));
    assert_int_equal(f->drained, 1);
    assert_false(is_connected(f));
}

static bool has_ticks(const struct fixture *f)
{
    return event_pending(f->server->tick, EV_TIMEOUT, NULL);
}

/* A process that nobody is connected to does not wake up each second. */
static void no_ticks(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un address;
    socklen_t size = sizeof(address);

    disconnect_client(f);
    assert_false(has_ticks(f));

    f->client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    getsockname(f->listener, (struct sockaddr *)&address, &size);
    assert_int_equal(
        connect(f->client, (struct sockaddr *)&address, size), 0);
    f->server->date[0] = '\0';
    say_text(f, "GET /1 HTTP/1.1\r\n" HOST);
    assert_non_null(strstr(f->text, " GMT\r\n"));
    event_active(f->server->tick, EV_TIMEOUT, 0);
    turn(f);
    assert_true(has_ticks(f));

    disconnect_client(f);
    event_active(f->server->tick, EV_TIMEOUT, 0);
    turn(f);
    assert_false(has_ticks(f));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(streams),          TEST(gone),      TEST(half_closed),
        TEST(half_closed_later), TEST(timeouts), TEST(not_taken),
        TEST(too_long),         TEST(not_taken_copies),
        TEST(invited),          TEST(no_room),   TEST(stop),
        TEST(parts),            TEST(parts_end), TEST(parts_not_taken),
        TEST(gone_unwatched),   TEST(no_ticks),
        TEST(watched_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
