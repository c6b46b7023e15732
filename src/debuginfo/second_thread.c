/*
 * Copyright (C) the ngx_symcache authors
 */
#include "second_thread.h"

#include <malloc.h>
#include <pthread.h>
#include <stddef.h>

#include "base/thread.h"

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_started;
    void (*run)(void *arg); /* NULL: it has no task */
    void *arg;
} second_thread = {.lock = PTHREAD_MUTEX_INITIALIZER,
                   .changed = PTHREAD_COND_INITIALIZER};

static void *thread_loop(void *unused)
{
    pthread_mutex_lock(&second_thread.lock);
    second_thread.is_started = true;
    pthread_cond_broadcast(&second_thread.changed);
    for (;;) {
        while (second_thread.run == NULL) {
            pthread_cond_wait(&second_thread.changed, &second_thread.lock);
        }
        pthread_mutex_unlock(&second_thread.lock);
        second_thread.run(second_thread.arg);
        pthread_mutex_lock(&second_thread.lock);
        second_thread.run = NULL;
        pthread_cond_broadcast(&second_thread.changed);
    }
    return unused;
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

bool second_thread_run(void (*run)(void *arg), void *arg)
{
    bool is_free;

    pthread_mutex_lock(&second_thread.lock);
    is_free = second_thread.is_started && second_thread.run == NULL;
    if (is_free) {
        second_thread.run = run;
        second_thread.arg = arg;
        pthread_cond_broadcast(&second_thread.changed);
    }
    pthread_mutex_unlock(&second_thread.lock);
    return is_free;
}

bool second_thread_is_free(void)
{
    bool is_free;

    pthread_mutex_lock(&second_thread.lock);
    is_free = second_thread.is_started && second_thread.run == NULL;
    pthread_mutex_unlock(&second_thread.lock);
    return is_free;
}

void second_thread_wait(void)
{
    pthread_mutex_lock(&second_thread.lock);
    while (second_thread.run != NULL) {
        pthread_cond_wait(&second_thread.changed, &second_thread.lock);
    }
    pthread_mutex_unlock(&second_thread.lock);
}
