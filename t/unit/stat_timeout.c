/*
 * Copyright (C) the ngx_symcache authors
 *
 * Only a path that does not answer is said to be silent, and not a process
 * that could not look: fork() is ours here.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/stat_timeout.h"

static enum { WELL, KILLED, STARVED, BUSY, SILENT, NONE } fate;
static unsigned killed; /* so many before one lives */
static unsigned forks;
static pid_t self;

pid_t fork(void)
{
    struct timespec pause = {.tv_sec = PROBE_SECONDS + 1};
    bool second = getpid() != self;
    pid_t pid;

    if (second && fate == NONE) {
        errno = EAGAIN;
        return -1;
    }
    forks += !second;
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0 && second && fate == KILLED && forks <= killed) {
        raise(SIGKILL);
    }
    if (pid == 0 && second && fate == STARVED) {
        nanosleep(&pause, NULL);
    }
    return pid;
}

/* The last call of the process that looks. */
int access(const char *path, int how)
{
    struct timespec now, end;

    clock_gettime(CLOCK_MONOTONIC, &now);
    end.tv_sec = now.tv_sec + PROBE_SECONDS + 1;
    while (fate == BUSY && now.tv_sec <= end.tv_sec) {
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    if (fate == SILENT) {
        pause();
    }
    return faccessat(AT_FDCWD, path, how, 0);
}

static int probe_dir(const char *path)
{
    mode_t mode;
    int rc;

    forks = 0;
    errno = 0;
    rc = stat_with_timeout(path, X_OK, &mode);
    assert_true(S_ISDIR(mode) || rc != 0);
    return rc == 0 ? 0 : errno;
}

static void answers(void **state)
{
    mode_t mode;

    fate = WELL;
    assert_int_equal(probe_dir("/"), 0);
    assert_int_equal(probe_dir("/nowhere/at/all"), ENOENT);
    assert_int_equal(stat_with_timeout("/dev/null", X_OK, &mode), -1);
    assert_int_equal(errno, EACCES);
    assert_true(S_ISCHR(mode));
}

static void is_killed(void **state)
{
    fate = KILLED;
    killed = 1;
    assert_int_equal(probe_dir("/"), 0);
    assert_int_equal(forks, 2);
    killed = UINT_MAX;
    assert_int_equal(probe_dir("/"), ECHILD);
}

/* A machine with too much to do runs it much later. */
static void is_starved(void **state)
{
    fate = STARVED;
    assert_int_equal(probe_dir("/"), 0);
}

/* ... or lets it begin, and not go on.  But what waits for the path is silent
 * however long it may take. */
static void is_slow(void **state)
{
    fate = BUSY;
    assert_int_equal(probe_dir("/"), 0);
    fate = SILENT;
    assert_int_equal(probe_dir("/"), ETIMEDOUT);
}

static void is_not_made(void **state)
{
    fate = NONE;
    assert_int_equal(probe_dir("/"), EAGAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),     cmocka_unit_test(is_killed),
        cmocka_unit_test(is_starved),  cmocka_unit_test(is_slow),
        cmocka_unit_test(is_not_made),
    };

    self = getpid();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
