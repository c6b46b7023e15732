/*
 * Copyright (C) the ngx_symcache authors
 *
 * The thread and the loop each hold a reference to the task; the last one to
 * drop its reference frees it.
 */
#include "task.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "clock.h"
#include "fd_close.h"
#include "fd_readable.h"
#include "thread.h"
#include "event.h"

struct task {
    LIST_ENTRY(task) entry; /* of those that the loop holds */
    atomic_uint holders;
    atomic_bool returned; /* run has returned: the loop may use arg again */
    int ready;            /* becomes readable when run has returned */
    struct event *event;
    struct timeval limit; /* or all zeroes */
    const struct task_calls *calls;
    void *arg;
};

/* the tasks that the loop of this thread holds */
static _Thread_local LIST_HEAD(, task) tasks = LIST_HEAD_INITIALIZER(tasks);

static void task_let_go(struct task *task)
{
    if (atomic_fetch_sub(&task->holders, 1) == 1) {
        task->calls->drop(task->arg);
        fd_close(task->ready);
        free(task);
    }
}

static void *task_run(void *arg)
{
    struct task *task = arg;

    task->calls->run(task->arg);
    atomic_store(&task->returned, true);
    while (eventfd_write(task->ready, 1) != 0 && errno == EINTR) {
        continue;
    }
    task_let_go(task);
    return NULL;
}

/* Returns 0 or -1. */
static int await_task(struct task *task)
{
    return event_add(task->event,
                     task->limit.tv_sec != 0 ? &task->limit : NULL);
}

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
    struct task *task = arg;

    if ((what & EV_READ) && !fd_is_readable(fd) && await_task(task) == 0) {
        return;
    }
    task->calls->done(task->arg, !atomic_load(&task->returned));
    task_cancel(task);
}

/* Returns NULL when out of memory; arg is then dropped. */
static struct task *task_new(const struct task_calls *calls, void *arg)
{
    struct task *task = calloc(1, sizeof(*task));

    if (task == NULL) {
        calls->drop(arg);
        errno = ENOMEM;
        return NULL;
    }
    LIST_INSERT_HEAD(&tasks, task, entry);
    atomic_init(&task->holders, 2);
    task->calls = calls;
    task->arg = arg;
    task->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return task;
}

/* Returns the task, or NULL with errno if that is not 0. */
static struct task *task_begun(struct task *task, int errnum)
{
    if (errnum != 0) {
        atomic_store(&task->holders, 1);
        task_cancel(task);
        errno = errnum;
        return NULL;
    }
    return task;
}

struct task *task_start(struct event_base *base, unsigned seconds,
                        const struct task_calls *calls, void *arg)
{
    struct task *task = task_new(calls, arg);
    int rc = ENOMEM;

    if (task == NULL) {
        return NULL;
    }
    task->limit.tv_sec = (time_t)seconds;
    task->event = event_new(base, task->ready, EV_READ, on_ready, task);
    if (task->ready != -1 && task->event != NULL && await_task(task) == 0) {
        rc = thread_start(task_run, task);
    }
    return task_begun(task, rc);
}

struct task *task_wait(unsigned ms, const struct task_calls *calls, void *arg,
                       bool *late)
{
    struct task *task = task_new(calls, arg);
    uint64_t began = clock_ms();
    struct pollfd ready;
    unsigned waited;
    int rc;

    if (task == NULL) {
        return NULL;
    }
    ready = (struct pollfd){.fd = task->ready, .events = POLLIN};
    rc = task->ready != -1 ? thread_start(task_run, task) : ENOMEM;
    for (waited = 0; rc == 0 && waited < ms; waited = clock_since(began)) {
        if (poll(&ready, 1, (int)(ms - waited)) > 0) {
            break;
        }
    }
    *late = !atomic_load(&task->returned);
    return task_begun(task, rc);
}

void task_cancel(struct task *task)
{
    if (task == NULL) {
        return;
    }
    LIST_REMOVE(task, entry);
    event_drop(task->event);
    task_let_go(task);
}

void task_cancel_all(void)
{
    while (!LIST_EMPTY(&tasks)) {
        task_cancel(LIST_FIRST(&tasks));
    }
}
