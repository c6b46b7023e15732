/*
 * Copyright (C) the ngx_symcache authors
 *
 * The end of a process is seen on a pidfd, so that no other waiter and no
 * signal handler takes part.  The pid stays a zombie until the group has been
 * killed: nobody else can get the number in between.
 */
#include "child.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "guard.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define CHILD_CLOSE_ON_EXEC (1u << 2) /* CLOSE_RANGE_CLOEXEC */
#define CHILD_FDS_MAX 8
#define CHILD_SCRATCH_FD 64 /* above every number a process is given */

struct child {
    pid_t pid;
    int pidfd;
    int err;
    struct event *exit_event;
    struct event *err_event;
    struct event *timer;
    child_done_fn done;
    void *arg;
    bool timed_out;
    uint64_t started;
    size_t tail_len;
    char tail[CHILD_TAIL + 1];
};

/* what the new process needs between fork() and exec() */
struct child_plan {
    const struct child_options *options;
    pid_t parent;
    int null;
    int err;
    int failed; /* errno goes here if exec() does not come about; or -1 */
};

static int child_move_fd(int *fd)
{
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, CHILD_SCRATCH_FD);

    if (moved < 0) {
        return -1;
    }

    *fd = moved;
    return 0;
}

static int child_place_fds(struct child_plan *plan)
{
    int fds[CHILD_FDS_MAX];
    size_t i, n = plan->options->nfds;

    /* first out of the way of the numbers that are given out */
    if ((plan->failed >= 0 && child_move_fd(&plan->failed) != 0) ||
        child_move_fd(&plan->err) != 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        fds[i] = plan->options->fds[i];
        if (child_move_fd(&fds[i]) != 0) {
            return -1;
        }
    }

    if (dup2(plan->null, 0) < 0 || dup2(plan->null, 1) < 0 ||
        dup2(plan->err, 2) < 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        if (dup2(fds[i], CHILD_FD + (int)i) < 0) {
            return -1;
        }
    }

    /* for what a library opened without O_CLOEXEC; old kernels lack it */
    syscall(SYS_close_range, CHILD_FD + (unsigned)n, UINT_MAX,
            CHILD_CLOSE_ON_EXEC);
    return 0;
}

static int child_set_limits(const struct child_options *options)
{
    struct rlimit core = {0, 0};
    struct rlimit memory = {options->memory, options->memory};

    if (setrlimit(RLIMIT_CORE, &core) != 0) {
        return -1;
    }

    return options->memory == 0 ? 0 : setrlimit(RLIMIT_AS, &memory);
}

static void child_default_signals(void)
{
    sigset_t none;
    int sig;

    for (sig = 1; sig < 32; sig++) {
        signal(sig, SIG_DFL);
    }

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the new process: only calls that are safe after fork(). */
static int child_prepare(struct child_plan *plan)
{
    const struct child_options *options = plan->options;

    child_default_signals();

    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    if (getppid() != plan->parent) {
        _exit(127); /* the helper died before PDEATHSIG was set */
    }

    if (child_place_fds(plan) != 0 ||
        chdir(options->cwd != NULL ? options->cwd : "/") != 0) {
        return -1;
    }

    return child_set_limits(options);
}

static void child_exec(struct child_plan *plan)
{
    int error;

    if (child_prepare(plan) == 0) {
        execve(plan->options->program, plan->options->argv,
               plan->options->env);
    }

    error = errno;
    if (write(plan->failed, &error, sizeof(error)) < 0) {
        _exit(126);
    }
    _exit(127);
}

/* Returns the pid, or -1 with errno. */
static pid_t child_fork(struct child_plan *plan)
{
    pid_t pid = fork();

    if (pid == 0) {
        child_exec(plan);
    }
    if (pid > 0) {
        /* here too: the group is there to be killed from now on */
        (void)setpgid(pid, pid);
        guard_add(pid);
    }
    return pid;
}

/*
 * Returns the pid, or -1 with errno.  That exec() is through is waited for,
 * which on a loaded machine takes tens of milliseconds.
 */
static pid_t child_fork_and_wait(struct child_plan *plan)
{
    int failed[2], error = 0;
    ssize_t n;
    pid_t pid;

    if (pipe2(failed, O_CLOEXEC) != 0) {
        return -1;
    }

    plan->failed = failed[1];
    pid = child_fork(plan);
    error = errno;
    close(failed[1]);

    if (pid > 0) {
        do {
            n = read(failed[0], &error, sizeof(error));
        } while (n < 0 && errno == EINTR);

        if (n != 0) {
            guard_drop(pid);
            waitpid(pid, NULL, 0);
            pid = -1;
        }
    }

    close(failed[0]);
    errno = error;
    return pid;
}

/* Returns false when there is nothing to read now. */
static bool child_read_tail(struct child *child)
{
    char buf[CHILD_TAIL];
    size_t keep;
    ssize_t n;

    n = read(child->err, buf, sizeof(buf));
    if (n <= 0) {
        if (n == 0) {
            event_del(child->err_event);
        }
        return false;
    }

    keep = CHILD_TAIL - (size_t)n;
    if (child->tail_len > keep) {
        memmove(child->tail, child->tail + child->tail_len - keep, keep);
        child->tail_len = keep;
    }

    memcpy(child->tail + child->tail_len, buf, (size_t)n);
    child->tail_len += (size_t)n;
    return true;
}

static void child_free(struct child *child)
{
    if (child->exit_event != NULL) {
        event_free(child->exit_event);
    }
    if (child->err_event != NULL) {
        event_free(child->err_event);
    }
    if (child->timer != NULL) {
        event_free(child->timer);
    }
    if (child->pidfd >= 0) {
        close(child->pidfd);
    }
    if (child->err >= 0) {
        close(child->err);
    }
    free(child);
}

/* Kills what is left of the group, then reaps its leader. */
static int child_reap(struct child *child)
{
    int status = 0;

    kill(-child->pid, SIGKILL);
    guard_drop(child->pid); /* before the number is free */
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
        continue;
    }

    return status;
}

static void child_on_exit(evutil_socket_t fd, short what, void *arg)
{
    struct child *child = arg;
    struct child_result result;
    int reads = 0;

    (void)fd;
    (void)what;

    result.status = child_reap(child);
    /* bounded: someone who left the group may hold the other end */
    while (reads++ < 256 && child_read_tail(child)) {
        continue;
    }

    child->tail[child->tail_len] = '\0';
    result.timed_out = child->timed_out;
    result.ms = clock_since(child->started);
    result.tail = child->tail;
    result.tail_len = child->tail_len;

    event_del(child->exit_event);
    event_del(child->err_event);
    child->done(child->arg, &result);
    child_free(child);
}

static void child_on_stderr(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    child_read_tail(arg);
}

static void child_on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct child *child = arg;

    (void)fd;
    (void)what;
    child->timed_out = true;
    kill(-child->pid, SIGKILL);
}

static int child_watch(struct child *child, struct event_base *base,
                       unsigned seconds)
{
    struct timeval limit = {seconds, 0};

    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (child->pidfd < 0) {
        return -1;
    }

    child->exit_event =
        event_new(base, child->pidfd, EV_READ, child_on_exit, child);
    child->err_event = event_new(base, child->err, EV_READ | EV_PERSIST,
                                 child_on_stderr, child);
    child->timer = evtimer_new(base, child_on_timeout, child);
    if (child->exit_event == NULL || child->err_event == NULL ||
        child->timer == NULL || event_add(child->exit_event, NULL) != 0 ||
        event_add(child->err_event, NULL) != 0 ||
        (seconds != 0 && evtimer_add(child->timer, &limit) != 0)) {
        errno = ENOMEM;
        return -1;
    }

    return 0;
}

static int child_spawn(struct child *child,
                       const struct child_options *options)
{
    struct child_plan plan = {options, getpid(), -1, -1, -1};
    int err[2], null, saved;

    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) {
        return -1;
    }
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(null);
        return -1;
    }

    child->err = err[0];
    fcntl(child->err, F_SETFL, O_NONBLOCK);
    plan.null = null;
    plan.err = err[1];
    child->pid = options->own ? child_fork(&plan) : child_fork_and_wait(&plan);

    saved = errno;
    close(err[1]);
    close(null);
    errno = saved;
    return child->pid < 0 ? -1 : 0;
}

struct child *child_start(struct event_base *base,
                          const struct child_options *options,
                          child_done_fn done, void *arg)
{
    struct child *child;
    int saved;

    if (options->nfds > CHILD_FDS_MAX) {
        errno = EINVAL;
        return NULL;
    }

    child = calloc(1, sizeof(*child));
    if (child == NULL) {
        return NULL;
    }

    child->pidfd = -1;
    child->err = -1;
    child->done = done;
    child->arg = arg;
    child->started = clock_ms();

    if (child_spawn(child, options) != 0) {
        saved = errno;
        child_free(child);
        errno = saved;
        return NULL;
    }

    if (child_watch(child, base, options->seconds) != 0) {
        saved = errno;
        child_cancel(child);
        errno = saved;
        return NULL;
    }

    return child;
}

void child_cancel(struct child *child)
{
    child_reap(child);
    child_free(child);
}
