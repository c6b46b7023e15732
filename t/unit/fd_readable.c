/*
 * Copyright (C) the ngx_symcache authors
 *
 * What epoll reports of a connection that is closed here, and still open in a
 * process that was forked, is not taken for the end of a child or of a task,
 * though these have its number now.
 */

#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/fd_readable.h"
#include "base/task.h"
#include "child/child.h"

#define STALE 16 /* more than a child has descriptors */
#define TURNS 100

static struct event_base *base;
static pid_t holder;
static unsigned ends;

static void on_stale(evutil_socket_t fd, short what, void *arg)
{
    ++*(unsigned *)arg;
}

/* Leaves descriptors as evhttp does: closed first, and then not watched. */
static void leave_stale(void)
{
    struct event *events[STALE];
    unsigned reported = 0;
    int fds[STALE], i;

    for (i = 0; i < STALE; i += 2) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, &fds[i]), 0);
        assert_int_equal(write(fds[i], "x", 1), 1);
        assert_int_equal(write(fds[i + 1], "x", 1), 1);
    }
    for (i = 0; i < STALE; i++) {
        events[i] = event_new(base, fds[i], EV_READ | EV_PERSIST, on_stale,
                              &reported);
        assert_int_equal(event_add(events[i], NULL), 0);
    }
    holder = fork();
    if (holder == 0) {
        pause();
        _exit(0);
    }
    assert_true(holder > 0);
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    assert_int_equal(reported, STALE);
    for (i = 0; i < STALE; i++) {
        close(fds[i]);
        event_free(events[i]);
    }
}

static int begin(void **state)
{
    base = event_base_new();
    ends = 0;
    leave_stale();
    return base == NULL;
}

static int end(void **state)
{
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    event_base_free(base);
    return 0;
}

static void turn(void)
{
    int i;

    for (i = 0; i < TURNS; i++) {
        event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    }
    assert_int_equal(ends, 0);
}

static void on_exit_of(void *arg, struct child_result *result)
{
    *(int *)arg = result->status;
    ends++;
}

static void child_lives(void **state)
{
    char *argv[] = {"sh", "-c", "read x <&3", NULL}, *env[] = {NULL};
    int status = -1, gate[2];
    struct child_options options = {.program = "/bin/sh", .argv = argv,
                                    .env = env, .fds = gate, .nfds = 1,
                                    .is_near = true, .seconds = 60};

    assert_int_equal(pipe(gate), 0);
    assert_non_null(child_start(base, &options, on_exit_of, &status));
    turn();
    assert_int_equal(write(gate[1], "\n", 1), 1);
    while (ends == 0) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_int_equal(status, 0);
    close(gate[0]);
    close(gate[1]);
}

static void run(void *arg)
{
    eventfd_t n;

    eventfd_read(*(int *)arg, &n);
}

static void done(void *arg, bool late)
{
    assert_false(late);
    ends++;
}

static void drop(void *arg)
{
}

static void task_goes_on(void **state)
{
    static const struct task_calls calls = {run, done, drop};
    static int gate;

    gate = eventfd(0, 0);
    assert_non_null(task_start(base, 60, &calls, &gate));
    turn();
    assert_int_equal(eventfd_write(gate, 1), 0);
    while (ends == 0) {
        event_base_loop(base, EVLOOP_ONCE);
    }
    close(gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(child_lives, begin, end),
        cmocka_unit_test_setup_teardown(task_goes_on, begin, end),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
