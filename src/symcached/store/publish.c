/*
 * Copyright (C) the ngx_symcache authors
 */
#include "publish.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "store.h"
#include "thread.h"

struct publish {
    pthread_t thread;
    int ready; /* readable when the thread is about to end */
    struct event *event;
    publish_done_fn done;
    void *arg;
    const char *root;
    symcache_key_t key;
    symcache_version_t version;
    char *file;
    long long size; /* the result, and of an error its reason */
    int errnum;
};

static void *publish_run(void *arg)
{
    struct publish *publish = arg;

    publish->size = store_publish(publish->root, &publish->key,
                                  &publish->version, publish->file);
    publish->errnum = publish->size < 0 ? errno : 0;
    while (eventfd_write(publish->ready, 1) != 0 && errno == EINTR) {
        continue;
    }
    return NULL;
}

static void publish_free(struct publish *publish)
{
    if (publish->event != NULL) {
        event_free(publish->event);
    }
    if (publish->ready != -1) {
        close(publish->ready);
    }
    free(publish->file);
    free(publish);
}

static void publish_on_ready(evutil_socket_t fd, short what, void *arg)
{
    struct publish *publish = arg;

    pthread_join(publish->thread, NULL);
    publish->done(publish->arg, publish->size, publish->errnum);
    publish_free(publish);
}

struct publish *publish_start(struct event_base *base, const char *root,
                              const symcache_key_t *key,
                              const symcache_version_t *version,
                              const char *file, publish_done_fn done,
                              void *arg)
{
    struct publish *publish = calloc(1, sizeof(*publish));
    int rc = ENOMEM;

    if (publish == NULL) {
        return NULL;
    }
    publish->done = done;
    publish->arg = arg;
    publish->root = root;
    symcache_key_copy(&publish->key, key);
    publish->version = *version;
    publish->file = strdup(file);
    publish->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    publish->event =
        event_new(base, publish->ready, EV_READ, publish_on_ready, publish);

    if (publish->file != NULL && publish->ready != -1 &&
        publish->event != NULL && event_add(publish->event, NULL) == 0) {
        rc = thread_start(&publish->thread, publish_run, publish);
    }
    if (rc != 0) {
        publish_free(publish);
        errno = rc;
        return NULL;
    }
    return publish;
}

void publish_cancel(struct publish *publish)
{
    pthread_join(publish->thread, NULL);
    publish_free(publish);
}
