/*
 * Copyright (C) the ngx_symcache authors
 *
 * Whom a task tells, when, and who frees what it works with.
 */

#include <dlfcn.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/task.h"

struct work {
    struct event_base *base;
    int gate; /* an eventfd: run returns when it can be read */
    pthread_t runner;
    unsigned done;
    bool late;
};

static atomic_uint drops;
static int dropped; /* an eventfd: readable from the first drop on */
static int thread_error;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                   void *(*run)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                void *);

    if (thread_error != 0) {
        return thread_error;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attr, run, arg);
}

static void run(void *arg)
{
    struct work *work = arg;
    eventfd_t n;

    work->runner = pthread_self();
    eventfd_read(work->gate, &n);
}

static void done(void *arg, bool late)
{
    struct work *work = arg;

    work->done++;
    work->late = late;
    event_base_loopbreak(work->base);
}

static void drop(void *arg)
{
    drops++;
    eventfd_write(dropped, 1);
}

static const struct task_calls calls = {run, done, drop};

static void begin(struct work *work, bool open)
{
    *work = (struct work){.base = event_base_new()};
    work->gate = eventfd(open, EFD_CLOEXEC);
    dropped = eventfd(0, EFD_CLOEXEC);
    drops = 0;
}

static void end(struct work *work)
{
    eventfd_t n;

    eventfd_read(dropped, &n);
    assert_int_equal(drops, 1);
    /* nothing is left that could call */
    assert_int_equal(event_base_loop(work->base, EVLOOP_NONBLOCK), 1);
    event_base_free(work->base);
    close(work->gate);
    close(dropped);
}

static void is_told(void **state)
{
    struct work work;

    begin(&work, true);
    assert_non_null(task_start(work.base, 0, &calls, &work));
    assert_int_equal(work.done, 0);
    event_base_dispatch(work.base);
    assert_int_equal(work.done, 1);
    assert_false(work.late);
    assert_false(pthread_equal(work.runner, pthread_self()));
    end(&work);
}

/* What run works with stays until it has returned. */
static void is_late(void **state)
{
    struct work work;

    begin(&work, false);
    assert_non_null(task_start(work.base, 1, &calls, &work));
    event_base_dispatch(work.base);
    assert_int_equal(work.done, 1);
    assert_true(work.late);
    assert_int_equal(drops, 0);
    eventfd_write(work.gate, 1);
    end(&work);
    assert_int_equal(work.done, 1);
}

static void is_cancelled(void **state)
{
    struct work work;
    struct task *task;

    begin(&work, false);
    task = task_start(work.base, 0, &calls, &work);
    assert_non_null(task);
    task_cancel(task);
    assert_int_equal(drops, 0);
    eventfd_write(work.gate, 1);
    end(&work);
    assert_int_equal(work.done, 0);

    /* nobody else cancels it */
    begin(&work, false);
    assert_non_null(task_start(work.base, 0, &calls, &work));
    task_cancel_all();
    assert_int_equal(drops, 0);
    eventfd_write(work.gate, 1);
    end(&work);
    assert_int_equal(work.done, 0);
}

static void is_waited_for(void **state)
{
    struct work work;
    struct task *task;
    bool late;

    begin(&work, true);
    task = task_wait(60000, &calls, &work, &late);
    assert_non_null(task);
    assert_false(late);
    assert_false(pthread_equal(work.runner, pthread_self()));
    assert_int_equal(drops, 0);
    task_cancel(task);
    end(&work);

    begin(&work, false);
    task = task_wait(1, &calls, &work, &late);
    assert_non_null(task);
    assert_true(late);
    task_cancel(task);
    assert_int_equal(drops, 0);
    eventfd_write(work.gate, 1);
    end(&work);
    assert_int_equal(work.done, 0);
}

static void has_no_thread(void **state)
{
    struct work work;
    bool late;

    begin(&work, true);
    thread_error = EAGAIN;
    errno = 0;
    assert_null(task_wait(60000, &calls, &work, &late));
    assert_int_equal(errno, EAGAIN);
    thread_error = 0;
    end(&work);

    begin(&work, true);
    thread_error = EAGAIN;
    errno = 0;
    assert_null(task_start(work.base, 0, &calls, &work));
    assert_int_equal(errno, EAGAIN);
    thread_error = 0;
    end(&work);
    assert_int_equal(work.done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_told),
        cmocka_unit_test(is_late),
        cmocka_unit_test(is_cancelled),
        cmocka_unit_test(is_waited_for),
        cmocka_unit_test(has_no_thread),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
