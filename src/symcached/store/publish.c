/*
 * Copyright (C) the ngx_symcache authors
 */
#include "publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "base/task.h"

#define PUBLISH_SECONDS 300

struct publish {
    publish_done_fn done;
    void *arg;
    char *file;
    char *place; /* of an original; or NULL: what follows is of another file */
    char *root;
    symcache_key_t key;
    symcache_version_t version;
    bool has_digest;
    long long size; /* the result, and the reason of an error */
    int errnum;
};

static void publish_run(void *arg)
{
    struct publish *publish = arg;

    if (publish->place != NULL) {
        publish->size = store_keep_original(publish->file, publish->place);
    } else {
        publish->size = store_publish(publish->root, &publish->key,
                                      &publish->version, publish->file,
                                      publish->has_digest);
    }
    publish->errnum = publish->size < 0 ? errno : 0;
}

static void publish_done(void *arg, bool late)
{
    struct publish *publish = arg;

    if (late) {
        publish->done(publish->arg, -1, ETIMEDOUT);
    } else {
        publish->done(publish->arg, publish->size, publish->errnum);
    }
}

static void publish_drop(void *arg)
{
    struct publish *publish = arg;

    free(publish->root);
    free(publish->file);
    free(publish->place);
    free(publish);
}

static const struct task_calls publish_calls = {publish_run, publish_done,
                                                publish_drop};

/* Starts it; a text that it lacks is one for which there was no memory. */
static struct task *start_publish(struct event_base *base,
                                  struct publish *publish,
                                  publish_done_fn done, void *arg)
{
    publish->done = done;
    publish->arg = arg;
    if (publish->file == NULL ||
        (publish->root == NULL && publish->place == NULL)) {
        publish_drop(publish);
        errno = ENOMEM;
        return NULL;
    }
    return task_start(base, PUBLISH_SECONDS, &publish_calls, publish);
}

struct task *publish_start(struct event_base *base, const char *root,
                           const symcache_key_t *key,
                           const symcache_version_t *version, const char *file,
                           bool has_digest, publish_done_fn done, void *arg)
{
    struct publish *publish = calloc(1, sizeof(*publish));

    if (publish == NULL) {
        return NULL;
    }
    publish->file = strdup(file);
    publish->root = strdup(root);
    symcache_key_copy(&publish->key, key);
    publish->version = *version;
    publish->has_digest = has_digest;
    return start_publish(base, publish, done, arg);
}

struct task *publish_original(struct event_base *base, const char *file,
                              const char *place, publish_done_fn done,
                              void *arg)
{
    struct publish *publish = calloc(1, sizeof(*publish));

    if (publish == NULL) {
        return NULL;
    }
    publish->file = strdup(file);
    publish->place = strdup(place);
    return start_publish(base, publish, done, arg);
}
