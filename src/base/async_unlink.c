/*
 * Copyright (C) the ngx_symcache authors
 */
#include "async_unlink.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "clock.h"
#include "thread.h"
#include "workdir.h"

/* How long the removal of one path may take before the disk counts as stuck. */
#define ASYNC_UNLINK_PATIENCE_MS 60000

struct async_unlink_removal {
    STAILQ_ENTRY(async_unlink_removal) next;
    char path[];
};

/* The thread removes the first path of the queue, and takes it off afterwards.
 * It waits while the queue is empty. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t more;
    pthread_cond_t idle;
    STAILQ_HEAD(, async_unlink_removal) queue;
    bool started;
    uint64_t began; /* clock_ms() when the first path's turn came */
} async_unlink = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                  .more = PTHREAD_COND_INITIALIZER,
                  .idle = PTHREAD_COND_INITIALIZER,
                  .queue = STAILQ_HEAD_INITIALIZER(async_unlink.queue)};

static void *async_unlink_run(void *arg)
{
    struct async_unlink_removal *removal;

    pthread_mutex_lock(&async_unlink.mutex);
    for (;;) {
        while ((removal = STAILQ_FIRST(&async_unlink.queue)) == NULL) {
            pthread_cond_signal(&async_unlink.idle);
            pthread_cond_wait(&async_unlink.more, &async_unlink.mutex);
        }
        async_unlink.began = clock_ms();
        pthread_mutex_unlock(&async_unlink.mutex);
        workdir_remove(removal->path);
        pthread_mutex_lock(&async_unlink.mutex);
        STAILQ_REMOVE_HEAD(&async_unlink.queue, next);
        free(removal);
    }
    return NULL;
}

/* Starts the thread if there is none, and returns whether there is one.  The
 * caller holds the mutex. */
static bool async_unlink_runs(void)
{
    if (!async_unlink.started) {
        async_unlink.started = thread_start(async_unlink_run, NULL) == 0;
    }
    return async_unlink.started;
}

void async_unlink_add(const char *path)
{
    size_t size = strlen(path) + 1;
    struct async_unlink_removal *removal;
    bool taken = false;
    struct stat st;

    /* most jobs find nothing, and have made no folder */
    if (lstat(path, &st) != 0 && errno == ENOENT) {
        return;
    }
    removal = malloc(sizeof(*removal) + size);
    if (removal != NULL) {
        memcpy(removal->path, path, size);
        pthread_mutex_lock(&async_unlink.mutex);
        taken = async_unlink_runs();
        if (taken) {
            if (STAILQ_EMPTY(&async_unlink.queue)) {
                async_unlink.began = clock_ms();
            }
            STAILQ_INSERT_TAIL(&async_unlink.queue, removal, next);
            pthread_cond_signal(&async_unlink.more);
        }
        pthread_mutex_unlock(&async_unlink.mutex);
    }
    if (!taken) {
        free(removal);
        workdir_remove(path);
    }
}

bool async_unlink_works(void)
{
    bool works;

    pthread_mutex_lock(&async_unlink.mutex);
    works = !STAILQ_EMPTY(&async_unlink.queue) &&
            clock_since(async_unlink.began) < ASYNC_UNLINK_PATIENCE_MS;
    pthread_mutex_unlock(&async_unlink.mutex);
    return works;
}

void async_unlink_settle(void)
{
    pthread_mutex_lock(&async_unlink.mutex);
    while (!STAILQ_EMPTY(&async_unlink.queue)) {
        pthread_cond_wait(&async_unlink.idle, &async_unlink.mutex);
    }
    pthread_mutex_unlock(&async_unlink.mutex);
}
