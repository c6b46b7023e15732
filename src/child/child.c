/*
 * Copyright (C) the ngx_symcache authors
 *
 * A pidfd reports the end of a process, which needs no handler for SIGCHLD and
 * does not interfere with other code that waits for processes.  The process
 * stays a zombie until its group has been killed, so that no other group can
 * get its number in between.
 */
#include "child.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "base/fd_readable.h"
#include "base/running_clock.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define CHILD_FDS_MAX 40
#define CHILD_SCRATCH_FD 64 /* above all numbers that a process gets */

/* How long after SIGKILL a process counts as stuck.  The kernel takes long to
   free the memory of a large one. */
#define CHILD_KILL_SECONDS 3

struct child {
    LIST_ENTRY(child) entry; /* in children_left, if left is set */
    pid_t pid;
    int pidfd;
    int err;
    int failed; /* pipe that brings errno if child_exec_plan() failed */
    struct event *exit_event;
    struct event *err_event;
    struct event *timer;
    child_done_fn done;
    void *arg;
    void (*gone)(void *arg);
    void *gone_arg;
    unsigned seconds;
    struct running_clock clock;
    uint64_t began; /* by this clock */
    uint64_t due;   /* the same: when the limit ends */
    bool silent; /* options.first applies, and nothing was written yet */
    bool killed;
    bool stuck; /* did not end after SIGKILL */
    bool left;  /* nobody waits for it; it remains only to be reaped */
    bool timed_out;
    uint64_t started;
    size_t tail_len;
    char tail[CHILD_TAIL + 1];
};

/* what the new process needs between fork() and child_exec_plan() */
struct child_plan {
    const struct child_options *options;
    pid_t parent;
    int null;
    int err;
    int failed;
    int sandboxed; /* SANDBOX_PROGRAM, open, if that is the program; or -1 */
};

/* processes that were killed, have not ended yet, and have no owner any more */
static LIST_HEAD(, child) children_left = LIST_HEAD_INITIALIZER(children_left);

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
    int fds[CHILD_FDS_MAX], last;
    size_t i, n = plan->options->nfds;

    /* move all away first, so that dup2() below does not overwrite them */
    if (child_move_fd(&plan->failed) != 0 || child_move_fd(&plan->err) != 0 ||
        (plan->sandboxed >= 0 && child_move_fd(&plan->sandboxed) != 0)) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        fds[i] = plan->options->fds[i];
        if (child_move_fd(&fds[i]) != 0) {
            return -1;
        }
    }

    if (dup2(plan->null, 0) < 0 || dup2(plan->err, 1) < 0 ||
        dup2(plan->err, 2) < 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        if (dup2(fds[i], CHILD_FD + (int)i) < 0) {
            return -1;
        }
    }

    /*
     * Close all others now and not only in child_exec_plan(): if chdir() or
     * execve() waits for a disk, this process would keep clients' connections
     * open. Kernels before 5.9 have no close_range(); there child_exec_plan()
     * closes them.
     */
    last = CHILD_FD + (int)n;
    if (dup3(plan->failed, last, O_CLOEXEC) < 0) {
        return -1;
    }
    plan->failed = last;
    if (plan->sandboxed >= 0) {
        if (dup3(plan->sandboxed, ++last, O_CLOEXEC) < 0) {
            return -1;
        }
        plan->sandboxed = last;
    }
    syscall(SYS_close_range, (unsigned)last + 1, UINT_MAX, 0);
    return 0;
}

/* A lower limit that symcached itself was started with stays: without the right
 * to raise it, a process that asks for more gets an error. */
static int child_set_limit(int resource, rlim_t most)
{
    struct rlimit limit = {most, most}, now;

    if (getrlimit(resource, &now) == 0 && most > now.rlim_max) {
        limit.rlim_cur = limit.rlim_max = now.rlim_max;
    }
    return setrlimit(resource, &limit);
}

static int child_set_limits(const struct child_options *options)
{
    uint64_t space = options->mapped < RLIM_INFINITY - options->memory
                         ? options->memory + options->mapped
                         : RLIM_INFINITY;

    if (child_set_limit(RLIMIT_CORE, 0) != 0 ||
        (options->file != 0 &&
         child_set_limit(RLIMIT_FSIZE, options->file) != 0)) {
        return -1;
    }

    /* RLIMIT_DATA since Linux 4.7 counts private mappings that can be written
     * to; the address space bounds what it does not count, such as shared
     * memory */
    return options->memory == 0 ||
                   (child_set_limit(RLIMIT_DATA, options->memory) == 0 &&
                    child_set_limit(RLIMIT_AS, space) == 0)
               ? 0
               : -1;
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

/* Runs in the new process: only calls are allowed that are safe after fork().
 */
static int prepare_child(struct child_plan *plan)
{
    const struct child_options *options = plan->options;

    /* A helper that is killed right after fork() cannot tell the reaper of the
     * group.  This process can, because its end of the pipe is also open. */
    if (setpgid(0, 0) != 0) {
        return -1;
    }
    reaper_add(getpid());
    child_default_signals();

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
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

static void child_exec_plan(const struct child_plan *of_parent)
{
    const struct child_options *options = of_parent->options;
    struct child_plan plan = *of_parent; /* its memory may be the parent's */
    int error;

    if (prepare_child(&plan) == 0) {
        if (options->program != NULL) {
            execve(options->program, options->argv, options->env);
        } else {
            fexecve(plan.sandboxed, options->argv, options->env);
        }
    }

    error = errno;
    if (write(plan.failed, &error, sizeof(error)) < 0) {
        _exit(126);
    }
    _exit(127);
}

/*
 * fork() copies the tables of all our memory, and then each page that one of
 * the two processes writes to, which takes longer than to load the small
 * program.  vfork() copies nothing, but this thread stands still until the
 * child_exec_plan().  So it is only for a process that waits for no disk
 * before that.
 */
static bool child_may_share_memory(const struct child_plan *plan)
{
    return plan->options->is_near ||
           (plan->sandboxed >= 0 && plan->options->cwd == NULL);
}

/*
 * Returns the pid, or -1 with errno.  Signals are blocked until the new process
 * has reset our handlers.  These would otherwise write to pipes that it shares
 * with us, and we would take its signals for ours.
 */
static pid_t child_fork(const struct child_plan *plan)
{
    sigset_t all, before;
    pid_t pid;
    int saved;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = child_may_share_memory(plan) ? vfork() : fork();
    if (pid == 0) {
        child_exec_plan(plan); /* does not return */
    }
    saved = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    if (pid > 0) {
        /* the new process does this, too; whichever is first, the group exists
           from now on and can be killed */
        (void)setpgid(pid, pid);
    }
    return pid;
}

/* Returns false if nothing is left of its limit. */
static bool child_wait_on(struct child *child)
{
    struct timeval wait;

    return running_clock_wait(&child->clock, child->due, &wait) &&
           evtimer_add(child->timer, &wait) == 0;
}

/* The first byte was written: from now on options.seconds is the only limit. */
static void hear_child(struct child *child)
{
    if (!child->silent || child->killed) {
        return;
    }
    child->silent = false;
    if (child->seconds == 0) {
        event_del(child->timer);
        return;
    }
    child->due = child->began + (uint64_t)child->seconds * 1000;
}

/* Reads once and keeps the last bytes.  Returns false if nothing is there. */
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
    hear_child(child);

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
    if (child->gone != NULL) {
        child->gone(child->gone_arg);
    }
    if (child->left) {
        LIST_REMOVE(child, entry);
    }
    event_drop(child->exit_event);
    event_drop(child->err_event);
    event_drop(child->timer);
    fd_close(child->pidfd);
    fd_close(child->err);
    fd_close(child->failed);
    free(child);
}

/* Kills the rest of the group, then reaps its leader.  Returns false if the
 * leader has not ended. */
static bool reap_child(struct child *child, int *status)
{
    siginfo_t info = {0};

    kill(-child->pid, SIGKILL);
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) !=
            0 ||
        info.si_pid == 0) {
        return false;
    }
    reaper_drop(child->pid); /* before another process can get the number */
    return waitpid(child->pid, status, WNOHANG) > 0;
}

pid_t child_pid(const struct child *child)
{
    return child->pid;
}

void child_kill(struct child *child)
{
    struct timeval limit = {CHILD_KILL_SECONDS, 0};

    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL); /* it may have joined another group */
    child->killed = true;
    if (child->timer != NULL) {
        evtimer_add(child->timer, &limit);
    }
}

/* Keeps a child that was killed and has no owner, until it can be reaped. */
static void leave_child(struct child *child)
{
    child->left = true;
    LIST_INSERT_HEAD(&children_left, child, entry);
    if (child->err_event != NULL) {
        event_del(child->err_event);
    }
}

/* Calls done with the result.  The caller frees the child afterwards. */
static void tell_end(struct child *child, int status)
{
    struct child_result result = {0};
    child_done_fn done = child->done;
    int reads = 0;

    /* bounded, as a process that left the group may still be writing */
    while (reads++ < 256 && child_read_tail(child)) {
        continue;
    }
    child->tail[child->tail_len] = '\0';

    if (read(child->failed, &result.error, sizeof(int)) != sizeof(int)) {
        result.error = 0;
    }
    result.status = status;
    result.timed_out = child->timed_out;
    result.silent = child->timed_out && child->silent;
    result.ms = clock_since(child->started);
    result.tail = child->tail;
    result.tail_len = child->tail_len;
    done(child->arg, &result);
}

/* Reports the end of a child and frees it.  Returns false if it has not ended.
 */
static bool child_end(struct child *child)
{
    int status;

    if (!reap_child(child, &status)) {
        return false;
    }
    event_del(child->exit_event);
    event_del(child->err_event);
    event_del(child->timer);
    if (!child->left) {
        tell_end(child, status);
    }
    child_free(child);
    return true;
}

static void child_on_exit(evutil_socket_t fd, short what, void *arg)
{
    struct child *child = arg;

    if (!fd_is_readable(fd) && event_add(child->exit_event, NULL) == 0) {
        return;
    }
    if (!child_end(child)) {
        child_kill(child); /* a tracer reaps it first; the timer tries again */
    }
}

static void child_on_words(evutil_socket_t fd, short what, void *arg)
{
    child_read_tail(arg);
}

static void child_on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct child *child = arg;

    if (!child->killed) {
        if (child_wait_on(child)) {
            return;
        }
        child->timed_out = true;
        child_kill(child);
        return;
    }
    if (child_end(child)) {
        return;
    }

    event_add(child->exit_event, NULL);
    if (!child->stuck) {
        child->stuck = true;
        log_crit(0, "process %ld was killed and does not end; left to itself",
                 (long)child->pid);
    }
    if (!child->left) {
        leave_child(child);
        tell_end(child, SIGKILL);
    }
}

static int watch_child(struct child *child, struct event_base *base,
                       const struct child_options *options)
{
    unsigned seconds = options->first != 0 ? options->first : options->seconds;

    child->began = running_clock_ms(&child->clock);
    child->due = child->began + (uint64_t)seconds * 1000;
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    if (child->pidfd < 0) {
        return -1;
    }

    child->exit_event =
        event_new(base, child->pidfd, EV_READ, child_on_exit, child);
    child->err_event = event_new(base, child->err, EV_READ | EV_PERSIST,
                                 child_on_words, child);
    child->timer = evtimer_new(base, child_on_timeout, child);
    if (child->exit_event == NULL || child->err_event == NULL ||
        child->timer == NULL || event_add(child->exit_event, NULL) != 0 ||
        event_add(child->err_event, NULL) != 0 ||
        (seconds != 0 && !child_wait_on(child))) {
        errno = ENOMEM;
        return -1;
    }

    return 0;
}

/* Opens the pipes to the process; the ends that it gets go into the plan. */
static int child_open(struct child *child, struct child_plan *plan)
{
    int err[2], failed[2];

    if (pipe2(err, O_CLOEXEC) != 0) {
        return -1;
    }
    child->err = err[0];
    plan->err = err[1];
    if (pipe2(failed, O_CLOEXEC) != 0) {
        return -1;
    }
    child->failed = failed[0];
    plan->failed = failed[1];
    fcntl(child->err, F_SETFL, O_NONBLOCK);
    fcntl(child->failed, F_SETFL, O_NONBLOCK);

    plan->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    return plan->null < 0 ? -1 : 0;
}

static int spawn_child(struct child *child,
                       const struct child_options *options)
{
    struct child_plan plan = {options, getpid(), -1, -1, -1, -1};

    if (options->program == NULL) {
        plan.sandboxed = sandbox_program_fd();
    }

    child->pid = child_open(child, &plan) == 0 ? child_fork(&plan) : -1;
    fd_close(plan.null);
    fd_close(plan.err);
    fd_close(plan.failed);
    return child->pid < 0 ? -1 : 0;
}

/* Reaps those that have no pidfd, so that no event reports their end. */
static void reap_unwatched(void)
{
    struct child *child, *next;
    int status;

    for (child = LIST_FIRST(&children_left); child != NULL; child = next) {
        next = LIST_NEXT(child, entry);
        if (child->pidfd < 0 && reap_child(child, &status)) {
            child_free(child);
        }
    }
}

struct child *child_start(struct event_base *base,
                          const struct child_options *options,
                          child_done_fn done, void *arg)
{
    struct child *child;
    int saved;

    reap_unwatched();
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
    child->failed = -1;
    child->done = done;
    child->arg = arg;
    child->started = clock_ms();
    child->seconds = options->seconds;
    child->silent = options->first != 0;

    if (spawn_child(child, options) != 0) {
        saved = errno;
        child_free(child);
        errno = saved;
        return NULL;
    }

    if (watch_child(child, base, options) != 0) {
        saved = errno;
        child_cancel(child);
        errno = saved;
        return NULL;
    }

    child->gone = options->gone;
    child->gone_arg = options->gone_arg;
    return child;
}

void child_cancel(struct child *child)
{
    if (child != NULL) {
        child_kill(child);
        leave_child(child);
    }
}

void child_end_print(char text[CHILD_END_SIZE],
                     const struct child_result *result)
{
    int status = result->status;

    if (WIFSIGNALED(status)) {
        snprintf(text, CHILD_END_SIZE, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        snprintf(text, CHILD_END_SIZE, "exit code %d", WEXITSTATUS(status));
    }
}

void child_settle(unsigned ms)
{
    uint64_t began = clock_ms();
    struct pollfd ended = {.events = POLLIN};
    struct child *child;
    unsigned spent;
    int status;

    while ((child = LIST_FIRST(&children_left)) != NULL) {
        spent = clock_since(began);
        ended.fd = child->pidfd;
        if (spent < ms && child->pidfd >= 0) {
            (void)poll(&ended, 1, (int)(ms - spent));
        }
        (void)reap_child(child, &status);
        child_free(child);
    }
}
