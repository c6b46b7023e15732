/*
 * Copyright (C) the ngx_symcache authors
 *
 * The process that looks is a grandchild, whose parent ends at once.  So init
 * reaps it, even when this process has stopped waiting for it.
 */
#include "stat_timeout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define PROBE_FD 3
#define PROBE_START_SECONDS                                                   \
    30                /* for a process to begin, on a busy machine            \
                       */
#define PROBE_TRIES 3 /* if processes are killed from outside */

struct stat_probe_answer {
    int error; /* errno, or 0; EINPROGRESS: the process begins to look */
    mode_t mode;
    pid_t pid; /* of the process */
};

/* Runs in the new process, as does stat_look_at_path(): in both only calls are
 * allowed that are safe after fork(). */
static bool tell_stat(int fd, const struct stat_probe_answer *answer)
{
    return write(fd, answer, sizeof(*answer)) == sizeof(*answer);
}

static void stat_look_at_path(const char *path, int how, int to)
{
    struct stat_probe_answer answer = {.error = EINPROGRESS, .pid = getpid()};
    struct stat st;
    sigset_t none;

    if (!tell_stat(to, &answer)) {
        _exit(1);
    }
    /* an abandoned process must not keep our files open; the alarm ends it as
       soon as a signal can */
    dup2(to, PROBE_FD);
    syscall(SYS_close_range, PROBE_FD + 1, UINT_MAX, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(PROBE_START_SECONDS + PROBE_SECONDS);

    if (stat(path, &st) == 0) {
        answer.mode = st.st_mode;
        answer.error = access(path, how) == 0 ? 0 : errno;
    } else {
        answer.error = errno;
    }
    _exit(!tell_stat(PROBE_FD, &answer));
}

/* Starts the process.  Returns the pipe to read its answers from, or -1 with
 * errno. */
static int begin_stat(const char *path, int how)
{
    struct stat_probe_answer none = {0};
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        pid = fork();
        if (pid == 0) {
            stat_look_at_path(path, how, ends[1]);
        }
        none.error = errno;
        _exit(pid < 0 && !tell_stat(ends[1], &none));
    }
    none.error = errno;
    close(ends[1]);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
        return ends[0];
    }
    close(ends[0]);
    errno = none.error;
    return -1;
}

/* Reads one answer.  Its error is ETIMEDOUT if none came within the seconds,
 * and ECHILD if the process has ended without one. */
static void hear_stat(int fd, int seconds, struct stat_probe_answer *answer)
{
    struct pollfd end = {.fd = fd, .events = POLLIN};
    int rc;

    while ((rc = poll(&end, 1, seconds * 1000)) < 0 && errno == EINTR) {
        continue;
    }
    if (rc <= 0) {
        answer->error = ETIMEDOUT;
    } else if (read(fd, answer, sizeof(*answer)) != sizeof(*answer)) {
        answer->error = ECHILD;
    }
}

/* Does the process want to run, and does not wait for anything else? */
static bool stat_lacks_cpu(pid_t pid)
{
    char path[48], text[64], *end;
    ssize_t n = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    end = strrchr(text, ')'); /* of its name; its state is next */
    return end != NULL && strncmp(end, ") R", 3) == 0;
}

/* Reads what the process has seen.  On a busy machine it may have to wait for
 * its turn, which is not the path's fault. */
static void stat_hear_result(int fd, struct stat_probe_answer *answer)
{
    pid_t pid = answer->pid;
    int seconds = 0;

    do {
        hear_stat(fd, PROBE_SECONDS, answer);
        seconds += PROBE_SECONDS;
    } while (answer->error == ETIMEDOUT && seconds < PROBE_START_SECONDS &&
             stat_lacks_cpu(pid));
}

int stat_with_timeout(const char *path, int how, mode_t *mode)
{
    struct stat_probe_answer answer;
    unsigned tries = 0;
    int fd;

    do {
        memset(&answer, 0, sizeof(answer));
        fd = begin_stat(path, how);
        if (fd < 0) {
            answer.error = errno;
            break;
        }
        hear_stat(fd, PROBE_START_SECONDS, &answer);
        if (answer.error == EINPROGRESS) {
            stat_hear_result(fd, &answer);
        } else if (answer.error == ETIMEDOUT) {
            answer.error = EAGAIN; /* not the path's fault */
        }
        close(fd);
    } while (answer.error == ECHILD && ++tries < PROBE_TRIES);

    *mode = answer.mode;
    errno = answer.error;
    return errno == 0 ? 0 : -1;
}
