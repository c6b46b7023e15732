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
    struct task *task;
    publish_done_fn done;
    void *arg;
    char *root;
    symcache_key_t key;
    symcache_version_t version;
    char *file;
    char *original; /* and its place; or NULL */
    char *place;
    bool has_digest;
    long long size; /* the result, and the reason of an error */
    int errnum;
};

static void publish_run(void *arg)
{
    struct publish *publish = arg;

    if (publish->original != NULL &&
        store_keep_original(publish->original, publish->place) != 0) {
        publish->size = -1;
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
    free(publish->original);
    free(publish->place);
    free(publish);
}

static const struct task_calls publish_calls = {publish_run, publish_done,
                                                publish_drop};

struct publish *publish_start(struct event_base *base, const char *root,
                              const symcache_key_t *key,
                              const symcache_version_t *version,
                              const char *file, bool has_digest,
                              struct publish_original original,
                              publish_done_fn done, void *arg)
{
    struct publish *publish = calloc(1, sizeof(*publish));
    struct task *task;

    if (publish == NULL) {
        return NULL;
    }
    publish->done = done;
    publish->arg = arg;
    publish->root = strdup(root);
    symcache_key_copy(&publish->key, key);
    publish->version = *version;
    publish->has_digest = has_digest;
    publish->file = strdup(file);
    if (original.file != NULL) {
        publish->original = strdup(original.file);
        publish->place = strdup(original.place);
    }
    if (publish->root == NULL || publish->file == NULL ||
        (original.file != NULL &&
         (publish->original == NULL || publish->place == NULL))) {
        publish_drop(publish);
        errno = ENOMEM;
        return NULL;
    }

    task = task_start(base, PUBLISH_SECONDS, &publish_calls, publish);
    if (task == NULL) {
        return NULL; /* publish_drop() was called */
    }
    publish->task = task;
    return publish;
}

void publish_cancel(struct publish *publish)
{
    task_cancel(publish->task);
}
