/*
 * Copyright (C) the ngx_symcache authors
 *
 * The gate of evhttp: what is read of connections comes after everything else.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include <event2/event.h>
#include "http/evhttp_gate.h"
#include "http/http.h"

static void on_request(struct evhttp_request *req, void *arg)
{
    struct bufferevent *bev = evhttp_connection_get_bufferevent(
        evhttp_request_get_connection(req));

    *(int *)arg = bufferevent_get_priority(bev);
    evhttp_send_reply(req, 204, "No Content", NULL);
}

static void ignore_end(void *arg)
{
}

static void ignore_refusal(int status, void *arg)
{
}

static void test_requests_come_last(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct event_base *base = event_base_new();
    struct evhttp *http;
    struct gate *gate;
    int priority = -1, listener, client;
    struct gate_calls calls = {.request = on_request,
                               .ended = ignore_end,
                               .refused = ignore_refusal,
                               .arg = &priority};

    event_base_priority_init(base, GATE_PRIORITY + 1);
    http = evhttp_new(base);
    gate = gate_new(base, http, &calls);
    assert_non_null(gate);
    /* abstract, of a name that the kernel gives */
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(
        bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(evhttp_accept_socket(http, listener), 0);

    client = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address,
                                 &(socklen_t){sizeof(address)}),
                     0);
    assert_int_equal(connect(client, (struct sockaddr *)&address,
                             sizeof(sa_family_t) + 6),
                     0);
    assert_int_equal(send(client, request, strlen(request), 0),
                     strlen(request));
    while (priority == -1) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_int_equal(priority, GATE_PRIORITY);

    close(client);
    evhttp_free(http);
    gate_free(gate);
    event_base_free(base);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_come_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
