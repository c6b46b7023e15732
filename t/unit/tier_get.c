/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a read says of its tier, to the breaker: one that takes its time is a
 * good sign from its first byte on, and what fails here is none.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/workdir.h"
#include "config/config.h"
#include "symcached/source/sources.h"
#include "symcached/tier/call.h"

#define ID "0123456789ABCDEF0123456789ABCDEF1"

struct fleet {
    char dir[64];
    int server; /* listens */
    struct event_base *base;
    struct config *config;
    struct tiers *tiers;
    struct tier *tier;
    int ended;
};

static int listen_to(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static int open_fleet(void **state)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));
    char path[128], error[512] = "";
    unsigned port;
    FILE *f;

    snprintf(fleet->dir, sizeof(fleet->dir), "/tmp/symcache-probe.XXXXXX");
    assert_non_null(mkdtemp(fleet->dir));
    fleet->server = listen_to(&port);
    snprintf(path, sizeof(path), "%s/config", fleet->dir);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "{\"listen\": \"unix:%s/sock\", \"downloads\": \"%s/downloads\","
            " \"tiers\": {\"fleet\": {\"type\": \"s3\", \"bucket\": \"b\","
            " \"region\": \"r\", \"path_style\": true,"
            " \"endpoint\": \"http://127.0.0.1:%u\"}},"
            " \"stores\": {\"default\": {\"root\": \"%s/store\","
            " \"tier\": \"fleet\"}}}",
            fleet->dir, fleet->dir, port, fleet->dir);
    fclose(f);
    if (config_read(path, source_types, &fleet->config, error,
                    sizeof(error)) != 0) {
        fail_msg("%s", error);
    }
    fleet->base = event_base_new();
    fleet->tiers = tiers_new(fleet->base, fleet->config);
    assert_non_null(fleet->tiers);
    fleet->tier = tiers_find(fleet->tiers, "fleet");
    *state = fleet;
    return 0;
}

static int close_fleet(void **state)
{
    struct fleet *fleet = *state;

    close(fleet->server);
    tiers_free(fleet->tiers);
    config_unref(fleet->config);
    event_base_free(fleet->base);
    workdir_remove(fleet->dir);
    free(fleet);
    return 0;
}

static void on_end(void *arg, const struct tier_result *result)
{
    struct fleet *fleet = arg;

    assert_int_equal(result->outcome, TIER_FAILED);
    fleet->ended++;
}

/* Reads an object.  Returns NULL if it was refused at once. */
static struct tier_get *get_into(struct fleet *fleet, int fd, const char *path)
{
    int ended = fleet->ended;
    struct tier_get *get =
        tiers_get_original(fleet->tiers, fleet->config,
                           &fleet->config->tiers[0], path, fd, on_end, fleet);

    assert_non_null(get);
    close(fd);
    while (fleet->tier->get.running == 0 && fleet->ended == ended) {
        assert_int_equal(event_base_loop(fleet->base, EVLOOP_ONCE), 0);
    }
    assert_int_equal(event_base_loop(fleet->base, EVLOOP_NONBLOCK), 0);
    return fleet->ended == ended ? get : NULL;
}

static struct tier_get *begin_get(struct fleet *fleet, const char *path)
{
    return get_into(fleet,
                    open(fleet->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600),
                    path);
}

/* Returns the server's end of a connection. */
static int take_connection(struct fleet *fleet)
{
    int fd;

    while ((fd = accept(fleet->server, NULL, NULL)) < 0) {
        assert_int_equal(event_base_loop(fleet->base, EVLOOP_NONBLOCK), 0);
    }
    return fd;
}

static void wait_for_end(struct fleet *fleet)
{
    int ended = fleet->ended;

    while (fleet->ended == ended) {
        assert_int_equal(event_base_loop(fleet->base, EVLOOP_ONCE), 0);
    }
}

/* The breaker's pause is over, and the read of an object is the probe.  Returns
 * the server's end of its connection. */
static int begin_probe(struct fleet *fleet, struct tier_get **get)
{
    fleet->tier->get.breaker.state = BREAKER_OPEN;
    fleet->tier->get.breaker.failures = 3;
    fleet->tier->get.breaker.until = 0;
    *get = begin_get(fleet, "a.pdb/" ID "/a.pdb");
    assert_non_null(*get);
    assert_int_equal(fleet->tier->get.breaker.state, BREAKER_HALF_OPEN);
    return take_connection(fleet);
}

static void answer(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void a_probe_receives(void **state)
{
    struct fleet *fleet = *state;
    struct tier_get *probe, *other = NULL;
    int fd = begin_probe(fleet, &probe), i;

    answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    assert_null(begin_get(fleet, "b.pdb/" ID "/b.pdb"));
    answer(fd, "MZ");
    for (i = 0; i < 1000 && other == NULL; i++) {
        other = begin_get(fleet, "b.pdb/" ID "/b.pdb");
    }
    assert_non_null(other);
    assert_int_equal(fleet->tier->get.breaker.state, BREAKER_CLOSED);

    /* if that is all that comes, the breaker opens again */
    close(fd);
    wait_for_end(fleet);
    assert_int_equal(fleet->tier->get.breaker.state, BREAKER_OPEN);
    tiers_get_cancel(other);
}

/* What decides is gone: the next one does. */
static void a_probe_is_cancelled(void **state)
{
    struct fleet *fleet = *state;
    struct tier_get *probe, *other;
    int fd = begin_probe(fleet, &probe);

    tiers_get_cancel(probe);
    close(fd);
    other = begin_get(fleet, "b.pdb/" ID "/b.pdb");
    assert_non_null(other);
    assert_int_equal(fleet->tier->get.breaker.state, BREAKER_HALF_OPEN);
    assert_null(begin_get(fleet, "c.pdb/" ID "/c.pdb"));
    tiers_get_cancel(other);
}

/* A disk that is full is ours: that of this file has no room at all. */
static void no_room(void **state)
{
    struct fleet *fleet = *state;
    int fd;

    (void)get_into(fleet, memfd_create("object", MFD_CLOEXEC),
                   "a.pdb/" ID "/a.pdb");
    fd = take_connection(fleet);
    answer(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nMZ");
    wait_for_end(fleet);
    close(fd);
    assert_int_equal(fleet->tier->get.breaker.failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_probe_receives, open_fleet,
                                        close_fleet),
        cmocka_unit_test_setup_teardown(a_probe_is_cancelled, open_fleet,
                                        close_fleet),
        cmocka_unit_test_setup_teardown(no_room, open_fleet, close_fleet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
