/*
 * Copyright (C) the ngx_symcache authors
 *
 * A call that may block for as long as a disk likes, in a thread of its own;
 * the loop is told when it has returned, or that it does not.
 */
#ifndef BASE_TASK_H
#define BASE_TASK_H

#include <stdbool.h>

struct event_base;
struct task;

struct task_calls {
    /* in the thread */
    void (*run)(void *arg);
    /*
     * In the loop, once.  late: run has not returned within its time, and
     * what it works with is not to be touched.
     */
    void (*done)(void *arg, bool late);
    /* when neither needs arg any more; in either thread */
    void (*drop)(void *arg);
};

/*
 * seconds: 0 = no limit.  done is not called from inside this function.  arg
 * is the task's now, also when NULL is returned, with errno.
 */
struct task *task_start(struct event_base *base, unsigned seconds,
                        const struct task_calls *calls, void *arg);

/* done is not called any more; run goes on, for nobody. */
void task_cancel(struct task *task);

/* Those that nobody else cancels, when the loop of this thread has ended. */
void task_cancel_all(void);

#endif
