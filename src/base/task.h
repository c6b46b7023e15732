/*
 * Copyright (C) the ngx_symcache authors
 *
 * Runs a call that a disk may block for any time in a separate thread.  The
 * loop is told when the call has returned, or that it takes too long.
 */
#pragma once

#include <stdbool.h>

struct event_base;
struct task;

struct task_calls {
    /* in the thread */
    void (*run)(void *arg);
    /*
     * In the loop, once.  late means that run has not returned within its
     * time; what it works with must then not be touched.
     */
    void (*done)(void *arg, bool late);
    /* in either thread, when neither needs arg any more */
    void (*drop)(void *arg);
};

/*
 * Starts a task that may take so many seconds; 0 is no limit.  done is never
 * called from inside this function.  The task owns arg, and drops it also when
 * this function fails.  Returns NULL with errno then.
 */
struct task *task_start(struct event_base *base, unsigned seconds,
                        const struct task_calls *calls, void *arg);

/*
 * Starts a task, and waits for it so many milliseconds at most: done is not
 * called.  With *late, run has not returned in time, and arg must not be
 * touched.  The caller ends the task with task_cancel() in either case.
 * Returns NULL with errno; arg is then dropped.
 */
struct task *task_wait(unsigned ms, const struct task_calls *calls, void *arg,
                       bool *late);

/* Makes sure that done is not called any more.  run cannot be stopped, and
 * its result is dropped.  NULL is allowed. */
void task_cancel(struct task *task);

/* Cancels all tasks that are left when the loop of this thread has ended. */
void task_cancel_all(void);
