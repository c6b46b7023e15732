/*
 * Copyright (C) the ngx_symcache authors
 */
#include "remover.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "thread.h"
#include "workdir.h"

struct removal {
    STAILQ_ENTRY(removal) next;
    char path[];
};

/* The thread lives as long as there is something in the queue, of which the
 * first is what it removes. */
static struct {
    pthread_mutex_t mutex;
    STAILQ_HEAD(, removal) queue;
    pthread_t thread;
    bool running;
    bool started; /* and not joined */
} remover = {.mutex = PTHREAD_MUTEX_INITIALIZER,
             .queue = STAILQ_HEAD_INITIALIZER(remover.queue)};

static void *remover_run(void *arg)
{
    struct removal *removal;

    pthread_mutex_lock(&remover.mutex);
    while ((removal = STAILQ_FIRST(&remover.queue)) != NULL) {
        pthread_mutex_unlock(&remover.mutex);
        workdir_remove(removal->path);
        pthread_mutex_lock(&remover.mutex);
        STAILQ_REMOVE_HEAD(&remover.queue, next);
        free(removal);
    }
    remover.running = false;
    pthread_mutex_unlock(&remover.mutex);
    return NULL;
}

/* With the mutex held.  One that has ended needs it no more. */
static bool remover_runs(void)
{
    if (!remover.running) {
        if (remover.started) {
            pthread_join(remover.thread, NULL);
        }
        remover.started =
            thread_start(&remover.thread, remover_run, NULL) == 0;
        remover.running = remover.started;
    }
    return remover.running;
}

void remover_add(const char *path)
{
    size_t size = strlen(path) + 1;
    struct removal *removal = malloc(sizeof(*removal) + size);
    bool taken = false;

    if (removal != NULL) {
        memcpy(removal->path, path, size);
        pthread_mutex_lock(&remover.mutex);
        taken = remover_runs();
        if (taken) {
            STAILQ_INSERT_TAIL(&remover.queue, removal, next);
        }
        pthread_mutex_unlock(&remover.mutex);
    }
    if (!taken) {
        free(removal);
        workdir_remove(path);
    }
}

bool remover_settle(void)
{
    bool any;

    pthread_mutex_lock(&remover.mutex);
    any = remover.running;
    pthread_mutex_unlock(&remover.mutex);
    if (remover.started) {
        pthread_join(remover.thread, NULL);
        remover.started = false;
    }
    return any;
}
