/*
 * Copyright (C) the ngx_symcache authors
 *
 * A pipe connects the helper and this process.  The first process of a group
 * writes its number, and the helper the negative number when it ends.  When
 * the pipe closes, the helper is gone.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define REAPER_GROUPS 4096 /* further groups are not killed */
#define REAPER_FD 3

static int reaper_pipe = -1;

static void reaper_note(pid_t groups[REAPER_GROUPS], pid_t pid)
{
    pid_t wanted = pid > 0 ? 0 : -pid;
    size_t i;

    for (i = 0; i < REAPER_GROUPS; i++) {
        if (groups[i] == wanted) {
            groups[i] = pid > 0 ? pid : 0;
            return;
        }
    }
}

/* Closes everything but the pipe, and leaves the helper's session and ignores
   signals: otherwise Ctrl-C or a service manager would end both. */
static void reaper_detach(int from)
{
    int null = open("/dev/null", O_RDWR);
    int sig;

    setsid();
    for (sig = 1; sig < 32; sig++) {
        signal(sig, SIG_IGN);
    }
    prctl(PR_SET_NAME, "symcached-guard");
    dup2(from, REAPER_FD);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    syscall(SYS_close_range, REAPER_FD + 1, UINT_MAX, 0);
}

static void reaper_run(int from)
{
    static pid_t groups[REAPER_GROUPS];
    pid_t pid;
    ssize_t n;
    size_t i;

    reaper_detach(from);
    do {
        n = read(REAPER_FD, &pid, sizeof(pid));
        if (n == sizeof(pid)) {
            reaper_note(groups, pid);
        }
    } while (n > 0 || (n < 0 && errno == EINTR));

    for (i = 0; i < REAPER_GROUPS; i++) {
        if (groups[i] > 1) {
            kill(-groups[i], SIGKILL);
        }
    }
    _exit(0);
}

int reaper_start(void)
{
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return -1;
    }
    fcntl(ends[0], F_SETFL, 0);

    /* it is a grandchild whose parent ends at once, so the helper need not
       reap it */
    pid = fork();
    if (pid == 0) {
        close(ends[1]);
        if (fork() == 0) {
            reaper_run(ends[0]);
        }
        _exit(0);
    }

    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return -1;
    }
    waitpid(pid, NULL, 0);
    reaper_pipe = ends[1];
    return 0;
}

static void reaper_tell(pid_t pid)
{
    /* errors are ignored: if the reaper is gone, nothing can be done here */
    if (reaper_pipe != -1 && write(reaper_pipe, &pid, sizeof(pid)) < 0) {
        return;
    }
}

void reaper_add(pid_t group)
{
    reaper_tell(group);
}

void reaper_drop(pid_t group)
{
    reaper_tell(-group);
}
