/*
 * Copyright (C) the ngx_symcache authors
 */
#include "background.h"

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
} background = {.lock = PTHREAD_MUTEX_INITIALIZER,
                .changed = PTHREAD_COND_INITIALIZER};

static void *loop(void *unused)
{
    pthread_mutex_lock(&background.lock);
    background.is_started = true;
    pthread_cond_broadcast(&background.changed);
    for (;;) {
        while (background.run == NULL) {
            pthread_cond_wait(&background.changed, &background.lock);
        }
        pthread_mutex_unlock(&background.lock);
        background.run(background.arg);
        pthread_mutex_lock(&background.lock);
        background.run = NULL;
        pthread_cond_broadcast(&background.changed);
    }
    return unused;
}

void background_start(void)
{
    if (background.is_started) {
        return;
    }
    /* memory of a thread's own would take a system call that the sandbox has
     * not, and pages */
    mallopt(M_ARENA_MAX, 1);
    if (thread_start(loop, NULL) != 0) {
        return;
    }
    pthread_mutex_lock(&background.lock);
    while (!background.is_started) {
        pthread_cond_wait(&background.changed, &background.lock);
    }
    pthread_mutex_unlock(&background.lock);
}

bool background_run(void (*run)(void *arg), void *arg)
{
    bool is_free;

    pthread_mutex_lock(&background.lock);
    is_free = background.is_started && background.run == NULL;
    if (is_free) {
        background.run = run;
        background.arg = arg;
        pthread_cond_broadcast(&background.changed);
    }
    pthread_mutex_unlock(&background.lock);
    return is_free;
}

bool background_is_free(void)
{
    bool is_free;

    pthread_mutex_lock(&background.lock);
    is_free = background.is_started && background.run == NULL;
    pthread_mutex_unlock(&background.lock);
    return is_free;
}

void background_wait(void)
{
    pthread_mutex_lock(&background.lock);
    while (background.run != NULL) {
        pthread_cond_wait(&background.changed, &background.lock);
    }
    pthread_mutex_unlock(&background.lock);
}
