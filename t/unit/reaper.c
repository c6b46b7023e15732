/*
 * Copyright (C) the ngx_symcache authors
 *
 * The guard knows of a group before anything runs in it: a helper that is
 * killed at once takes along what its process has started.  setpgid() is ours
 * here: of the helper it is the first call after fork().
 */

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <event2/event.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "child/child.h"

#define PATIENCE 60000 /* milliseconds */

static int ends[2];

/* Returns whether something was written, or nobody can any more. */
static int is_readable(void)
{
    struct pollfd p = {.fd = ends[0], .events = POLLIN};

    return poll(&p, 1, PATIENCE) == 1;
}

int setpgid(pid_t pid, pid_t group)
{
    if (pid != 0) {
        (void)is_readable();
        raise(SIGKILL);
    }
    return (int)syscall(SYS_setpgid, pid, group);
}

static void done(void *arg, struct child_result *result)
{
}

static void helper(void)
{
    static char *const argv[] = {
        "sh", "-c", "sleep 1000 & echo $! >&3; wait", NULL};
    static char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    const struct child_options options = {.program = "/bin/sh",
                                          .argv = argv,
                                          .env = env,
                                          .fds = &ends[1],
                                          .nfds = 1};

    if (reaper_start() == 0) {
        (void)child_start(event_base_new(), &options, done, NULL);
    }
    _exit(1);
}

static void is_told_first(void **state)
{
    int status;
    pid_t pid;
    ssize_t n;
    char text[32] = "";

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        helper();
    }
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);

    /* it ends when the last process of the group does */
    n = is_readable() ? read(ends[0], text, 1) : -1;
    if (n != 0) {
        kill((pid_t)strtol(text, NULL, 10), SIGKILL);
    }
    assert_int_equal(n, 0);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_told_first),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
