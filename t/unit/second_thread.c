/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which tasks the second thread takes beside a long one, when it does them,
 * and which can be taken back.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/eventfd.h>
#include "debuginfo/second_thread.h"

struct task {
    unsigned done;
    pthread_t by;
};

/* A long task shares the thread at each step, with others or not. */
struct long_task {
    int gate;  /* an eventfd: a step begins when it can be read, */
    int steps; /* and here it has ended */
    bool takes_others;
    bool is_last;
};

static void run_task(void *arg)
{
    struct task *task = arg;

    task->done++;
    task->by = pthread_self();
}

static void run_long(void *arg)
{
    struct long_task *task = arg;
    bool is_last;
    eventfd_t n;

    do {
        eventfd_read(task->gate, &n);
        is_last = task->is_last;
        second_thread_share(task->takes_others);
        eventfd_write(task->steps, 1);
    } while (!is_last);
}

static void step(struct long_task *task, bool takes_others, bool is_last)
{
    eventfd_t n;

    task->takes_others = takes_others;
    task->is_last = is_last;
    eventfd_write(task->gate, 1);
    eventfd_read(task->steps, &n);
}

static void begin_long(struct long_task *task)
{
    task->gate = eventfd(0, 0);
    task->steps = eventfd(0, 0);
    assert_true(second_thread_run_long(run_long, task));
}

static void test_no_thread(void **state)
{
    struct task task = {0};

    (void)state;
    assert_false(second_thread_is_free());
    assert_false(second_thread_run(run_task, &task));
    assert_false(second_thread_run_long(run_task, &task));
    assert_false(second_thread_take_back());
    second_thread_wait();
    second_thread_wait_long();
    assert_int_equal(task.done, 0);
}

static void test_task(void **state)
{
    struct task task = {0};

    (void)state;
    second_thread_start();
    assert_true(second_thread_is_free());
    assert_true(second_thread_run(run_task, &task));
    second_thread_wait();
    assert_int_equal(task.done, 1);
    assert_false(pthread_equal(task.by, pthread_self()));
    assert_false(second_thread_take_back());
    assert_true(second_thread_is_free());
}

static void test_beside_long(void **state)
{
    struct task task = {0};
    struct long_task slow;

    (void)state;
    begin_long(&slow);
    assert_false(second_thread_run_long(run_long, &slow));
    /* until it says that there is time, there is none */
    assert_false(second_thread_is_free());
    assert_false(second_thread_run(run_task, &task));

    step(&slow, true, false);
    assert_true(second_thread_is_free());
    assert_true(second_thread_run(run_task, &task));
    assert_false(second_thread_is_free());
    assert_false(second_thread_run(run_task, &task));
    step(&slow, true, false);
    second_thread_wait();
    assert_int_equal(task.done, 1);
    assert_false(pthread_equal(task.by, pthread_self()));

    step(&slow, false, true);
    second_thread_wait_long();
    assert_true(second_thread_is_free());
}

static void test_take_back(void **state)
{
    struct task task = {0};
    struct long_task slow;

    (void)state;
    begin_long(&slow);
    step(&slow, true, false);
    assert_true(second_thread_run(run_task, &task));
    /* there is no time any more, so it does not begin with it */
    step(&slow, false, false);
    assert_int_equal(task.done, 0);
    assert_true(second_thread_take_back());
    assert_false(second_thread_take_back());
    assert_false(second_thread_is_free());
    step(&slow, true, true);
    second_thread_wait_long();
    second_thread_wait();
    assert_int_equal(task.done, 0);
}

/* What a long task left undone is done after it. */
static void test_after_long(void **state)
{
    struct task task = {0};
    struct long_task slow;

    (void)state;
    begin_long(&slow);
    step(&slow, true, false);
    assert_true(second_thread_run(run_task, &task));
    step(&slow, false, true);
    second_thread_wait();
    assert_int_equal(task.done, 1);
    second_thread_wait_long();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_thread),   cmocka_unit_test(test_task),
        cmocka_unit_test(test_beside_long), cmocka_unit_test(test_take_back),
        cmocka_unit_test(test_after_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
