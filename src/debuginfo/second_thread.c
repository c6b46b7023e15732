/*
 * Copyright (C) the ngx_symcache authors
 */
#include "second_thread.h"

#include <malloc.h>
#include <pthread.h>
#include <stddef.h>

#include "base/thread.h"

struct task {
    void (*run)(void *arg); /* NULL: there is none */
    void *arg;
    bool has_begun;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_started;
    struct task task;
    struct task long_task;
    bool takes_others; /* beside the long one */
} second_thread = {.lock = PTHREAD_MUTEX_INITIALIZER,
                   .changed = PTHREAD_COND_INITIALIZER};

/* Does a task, with the lock released meanwhile. */
static void do_task(struct task *task)
{
    task->has_begun = true;
    pthread_mutex_unlock(&second_thread.lock);
    task->run(task->arg);
    pthread_mutex_lock(&second_thread.lock);
    task->run = NULL;
    pthread_cond_broadcast(&second_thread.changed);
}

static void *thread_loop(void *unused)
{
    pthread_mutex_lock(&second_thread.lock);
    second_thread.is_started = true;
    pthread_cond_broadcast(&second_thread.changed);
    for (;;) {
        if (second_thread.task.run != NULL) {
            do_task(&second_thread.task);
        } else if (second_thread.long_task.run != NULL) {
            do_task(&second_thread.long_task);
        } else {
            pthread_cond_wait(&second_thread.changed, &second_thread.lock);
        }
    }
    return unused;
}

void second_thread_share(bool takes_others)
{
    pthread_mutex_lock(&second_thread.lock);
    second_thread.takes_others = takes_others;
    if (takes_others && second_thread.task.run != NULL) {
        do_task(&second_thread.task);
    }
    pthread_mutex_unlock(&second_thread.lock);
}

void second_thread_start(void)
{
    if (second_thread.is_started) {
        return;
    }
    /* memory of a thread's own would take a system call that the sandbox has
     * not, and pages */
    mallopt(M_ARENA_MAX, 1);
    if (thread_start(thread_loop, NULL) != 0) {
        return;
    }
    pthread_mutex_lock(&second_thread.lock);
    while (!second_thread.is_started) {
        pthread_cond_wait(&second_thread.changed, &second_thread.lock);
    }
    pthread_mutex_unlock(&second_thread.lock);
}

static bool is_free(void)
{
    return second_thread.is_started && second_thread.task.run == NULL &&
           (second_thread.long_task.run == NULL || second_thread.takes_others);
}

static bool give(struct task *task, bool is_possible, void (*run)(void *arg),
                 void *arg)
{
    if (is_possible) {
        *task = (struct task){run, arg, false};
        pthread_cond_broadcast(&second_thread.changed);
    }
    return is_possible;
}

static void wait_for(const struct task *task)
{
    pthread_mutex_lock(&second_thread.lock);
    while (task->run != NULL) {
        pthread_cond_wait(&second_thread.changed, &second_thread.lock);
    }
    pthread_mutex_unlock(&second_thread.lock);
}

bool second_thread_run(void (*run)(void *arg), void *arg)
{
    bool is_given;

    pthread_mutex_lock(&second_thread.lock);
    is_given = give(&second_thread.task, is_free(), run, arg);
    pthread_mutex_unlock(&second_thread.lock);
    return is_given;
}

bool second_thread_is_free(void)
{
    bool is;

    pthread_mutex_lock(&second_thread.lock);
    is = is_free();
    pthread_mutex_unlock(&second_thread.lock);
    return is;
}

bool second_thread_take_back(void)
{
    bool is_back;

    pthread_mutex_lock(&second_thread.lock);
    is_back = second_thread.task.run != NULL && !second_thread.task.has_begun;
    if (is_back) {
        second_thread.task.run = NULL;
    }
    pthread_mutex_unlock(&second_thread.lock);
    return is_back;
}

void second_thread_wait(void)
{
    wait_for(&second_thread.task);
}

bool second_thread_run_long(void (*run)(void *arg), void *arg)
{
    bool is_given;

    pthread_mutex_lock(&second_thread.lock);
    is_given =
        give(&second_thread.long_task,
             second_thread.is_started && second_thread.long_task.run == NULL,
             run, arg);
    second_thread.takes_others = false;
    pthread_mutex_unlock(&second_thread.lock);
    return is_given;
}

void second_thread_wait_long(void)
{
    wait_for(&second_thread.long_task);
}
