/*
 * Copyright (C) the ngx_symcache authors
 *
 * The process that looks is the child of one that ends at once, so that
 * nobody has to reap it.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define PROBE_FD 3

struct probe_answer {
    int error; /* errno, or 0 */
    mode_t mode;
};

/* In the process: only calls that are safe after fork(). */
static void look(const char *path, int how, int to)
{
    struct probe_answer answer = {0};
    struct stat st;
    sigset_t none;

    /* it holds nothing of ours open, and ends by itself if it can */
    dup2(to, PROBE_FD);
    syscall(SYS_close_range, PROBE_FD + 1, UINT_MAX, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(PROBE_SECONDS);

    if (stat(path, &st) == 0) {
        answer.mode = st.st_mode;
        answer.error = access(path, how) == 0 ? 0 : errno;
    } else {
        answer.error = errno;
    }
    _exit(write(PROBE_FD, &answer, sizeof(answer)) != sizeof(answer));
}

int probe(const char *path, int how, mode_t *mode)
{
    struct pollfd end = {.events = POLLIN};
    struct probe_answer answer = {0};
    int ends[2], rc;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    pid = fork();
    if (pid == 0) {
        if (fork() == 0) {
            look(path, how, ends[1]);
        }
        _exit(0);
    }
    close(ends[1]);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }

    end.fd = ends[0];
    while ((rc = poll(&end, 1, PROBE_SECONDS * 1000)) < 0 && errno == EINTR) {
        continue;
    }
    if (rc <= 0 || read(ends[0], &answer, sizeof(answer)) != sizeof(answer)) {
        answer.error = pid < 0 ? EAGAIN : ETIMEDOUT;
    }
    close(ends[0]);
    *mode = answer.mode;
    errno = answer.error;
    return errno == 0 ? 0 : -1;
}
