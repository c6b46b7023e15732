/*
 * Copyright (C) the ngx_symcache authors
 */
#include "invalidation.h"

#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config/config.h"
#include "symcached/index/index.h"
#include "symcached/job/job.h"

/* How long to wait for a job that is just publishing what it made of a former
 * file. */
#define AGAIN_MS 20

struct invalidation {
    struct scheduler *scheduler;
    const struct upload_file *files;
    size_t n;
    size_t next;
    bool is_try;
    struct event *timer;
    invalidation_done_fn done;
    void *arg;
};

/* The names by which the ids of a file are known, beside its own. */
static void find_names(struct index_names *names, const struct config *config,
                       const struct symstore_path *place, bool is_try)
{
    char folders[INDEX_FOLDERS][SYMSTORE_ID_SIZE], root[PATH_MAX];
    size_t i, n;

    snprintf(root, sizeof(root), "%.1024s%s", config->uploads.root,
             is_try ? "/" UPLOADS_TRY : "");
    for (i = 0; i < place->nids; i++) {
        n = index_folders(folders, &place->ids[i]);
        while (n-- > 0) {
            index_find(root, folders[n], names);
        }
    }
}

/* Drops what one store knows of a key.  Returns false if that must wait. */
static bool drop_key(struct scheduler *scheduler,
                     const struct store_config *store,
                     const symcache_key_t *key)
{
    bool done = scheduler_discard(scheduler, store, key);

    (void)scheduler_forget(scheduler, store, key, true);
    return done;
}

/* The same of a file, by all its names. */
static bool drop_in_store(struct scheduler *scheduler,
                          const struct store_config *store,
                          const struct symstore_path *place,
                          const struct index_names *names)
{
    symcache_key_t key;
    bool done = true;
    size_t i, j;

    for (i = 0; i < place->nids; i++) {
        done = drop_key(scheduler, store, &place->ids[i]) && done;
        for (j = 0; j < names->n; j++) {
            symcache_key_copy(&key, &place->ids[i]);
            index_set_name(&key, names->list[j].text);
            if (!symcache_key_same_module(&key, &place->ids[i])) {
                done = drop_key(scheduler, store, &key) && done;
            }
        }
    }
    return done;
}

static bool drop(struct scheduler *scheduler, const struct symstore_path *place,
                 bool is_try)
{
    const struct config *config = scheduler_config(scheduler);
    struct index_names names = {.n = 0};
    bool done = true;
    size_t i;

    find_names(&names, config, place, is_try);
    for (i = 0; i < config->nstores; i++) {
        if (config_store_has_uploads(&config->stores[i], is_try)) {
            done = drop_in_store(scheduler, &config->stores[i], place,
                                 &names) && done;
        }
    }
    return done;
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    static const struct timeval pause = {.tv_usec = AGAIN_MS * 1000};
    struct invalidation *invalidation = arg;
    invalidation_done_fn done = invalidation->done;
    const struct upload_file *file;

    for (; invalidation->next < invalidation->n; invalidation->next++) {
        file = &invalidation->files[invalidation->next];
        if ((file->fate != UPLOAD_SAME || file->is_recent) &&
            !drop(invalidation->scheduler, &file->place,
                  invalidation->is_try)) {
            event_add(invalidation->timer, &pause);
            return;
        }
    }
    arg = invalidation->arg;
    invalidation_cancel(invalidation);
    done(arg);
}

struct invalidation *invalidation_start(struct event_base *base,
                                        struct scheduler *scheduler,
                                        const struct upload_file *files,
                                        size_t n, bool is_try,
                                        invalidation_done_fn done, void *arg)
{
    struct invalidation *invalidation = calloc(1, sizeof(*invalidation));
    struct timeval now = {0, 0};

    if (invalidation == NULL) {
        return NULL;
    }
    invalidation->scheduler = scheduler;
    invalidation->files = files;
    invalidation->n = n;
    invalidation->is_try = is_try;
    invalidation->done = done;
    invalidation->arg = arg;
    invalidation->timer = evtimer_new(base, on_timer, invalidation);
    if (invalidation->timer == NULL) {
        free(invalidation);
        return NULL;
    }
    event_add(invalidation->timer, &now);
    return invalidation;
}

void invalidation_cancel(struct invalidation *invalidation)
{
    event_free(invalidation->timer);
    free(invalidation);
}
