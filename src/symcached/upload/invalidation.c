/*
 * Copyright (C) the ngx_symcache authors
 */
#include "invalidation.h"

#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/scarce.h"
#include "config/config.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/job/job.h"
#include "symcached/tier/tier.h"

/* How long to wait for a job that is just publishing a file made from a former
 * upload, or for a tier that is just storing one. */
#define AGAIN_MS 20

struct invalidation {
    struct scheduler *scheduler;
    const struct upload_file *files;
    size_t n;
    size_t next;
    bool is_try;
    bool keeps_made; /* of the file that is next: what was made is of it */
    bool is_made; /* there was something in a store with a tier */
    uint64_t began; /* clock_ms() */
    struct event *timer;
    invalidation_done_fn done;
    void *arg;
};

/* Drops everything that one store has for a key.  Returns false if that must
 * wait. */
static bool invalidate_key(struct invalidation *invalidation,
                           const struct store_config *store,
                           const symcache_key_t *key)
{
    struct scheduler *scheduler = invalidation->scheduler;
    bool done =
        invalidation->keeps_made ||
        scheduler_discard(scheduler, store, key, &invalidation->is_made);
    int errnum;

    (void)scheduler_forget(scheduler, store, key, true, &errnum);
    return done && !is_scarce(errnum);
}

/* The same by a name that the index has: of one by which an id was asked for
 * only with that id, of the name of a file with all ids of this one. */
static bool invalidate_name(struct invalidation *invalidation,
                            const struct store_config *store,
                            const struct symstore_path *place, size_t id,
                            const struct upload_index_name *name)
{
    symcache_key_t key;
    bool done = true;
    size_t i;

    for (i = 0; i < place->nids; i++) {
        symcache_key_copy(&key, &place->ids[i]);
        upload_index_set_name(&key, name->text);
        if ((i == id || !name->is_asked) &&
            !symcache_key_same_module(&key, &place->ids[i])) {
            done = invalidate_key(invalidation, store, &key) && done;
        }
    }
    return done;
}

/* The names by which one of the ids of a file is known.  Returns false if
 * these cannot be seen for want of descriptors or memory, or while the disk
 * hangs. */
static bool invalidation_find_names(struct upload_index_names *names,
                                    const struct config *config,
                                    const symcache_key_t *id, bool is_try)
{
    char folders[UPLOAD_INDEX_FOLDERS][SYMSTORE_ID_SIZE], root[PATH_MAX];
    size_t n = upload_index_folders(folders, id);
    bool done = true;
    int errnum;

    snprintf(root, sizeof(root), "%.1024s%s", config->uploads.root,
             is_try ? "/" UPLOADS_TRY : "");
    names->n = names->nhashes = names->nusers = 0;
    while (n-- > 0) {
        errnum = uploads_disk_find(root, folders[n], names);
        done = done && !is_scarce(errnum);
    }
    return done && !uploads_disk_hangs(config->uploads.root);
}

/* Drops what was made of other files with the names or lines that the file
 * has. */
static bool drop_user(struct invalidation *invalidation,
                      const struct store_config *store,
                      const symcache_key_t *user, bool is_try)
{
    struct upload_index_names names;
    symcache_key_t key;
    bool done;
    size_t i;

    done = invalidation_find_names(
        &names, scheduler_config(invalidation->scheduler), user, is_try);
    for (i = 0; i < names.n; i++) {
        symcache_key_copy(&key, user);
        upload_index_set_name(&key, names.list[i].text);
        done = invalidate_key(invalidation, store, &key) && done;
    }
    return done;
}

static bool drop_in_store(struct invalidation *invalidation,
                          const struct store_config *store,
                          const struct symstore_path *place)
{
    const struct config *config = scheduler_config(invalidation->scheduler);
    bool is_try = invalidation->is_try;
    struct upload_index_names names;
    symcache_key_t user = {.id_type = SYMCACHE_ID_DEBUG};
    bool done = true;
    size_t i, j;

    for (i = 0; i < place->nids; i++) {
        done = invalidate_key(invalidation, store, &place->ids[i]) && done;
        if (i > 0 && symcache_key_same_id(&place->ids[i], &place->ids[0])) {
            continue; /* the same without a name */
        }
        done =
            invalidation_find_names(&names, config, &place->ids[i], is_try) &&
            done;
        for (j = 0; j < names.n; j++) {
            done =
                invalidate_name(invalidation, store, place, i,
                                &names.list[j]) && done;
        }
        for (j = 0; j < names.nusers; j++) {
            memcpy(user.guid, names.users[j].guid, sizeof(user.guid));
            user.age = names.users[j].age;
            done = drop_user(invalidation, store, &user, is_try) && done;
        }
        for (j = 0; j < names.nhashes; j++) {
            done = invalidate_key(invalidation, store, &names.hashes[j]) &&
                   done;
        }
    }
    return done;
}

static bool drop_known(struct invalidation *invalidation,
                       const struct symstore_path *place)
{
    const struct config *config = scheduler_config(invalidation->scheduler);
    bool done = true;
    size_t i;

    for (i = 0; i < config->nstores; i++) {
        if (config_store_has_uploads(&config->stores[i],
                                     invalidation->is_try)) {
            done = drop_in_store(invalidation, &config->stores[i], place) &&
                   done;
        }
    }
    return done;
}

static void invalidation_on_timer(evutil_socket_t fd, short events, void *arg)
{
    static const struct timeval pause = {.tv_usec = AGAIN_MS * 1000};
    struct invalidation *invalidation = arg;
    invalidation_done_fn done = invalidation->done;
    const struct upload_file *file;
    bool is_changed, is_made;

    for (; invalidation->next < invalidation->n; invalidation->next++) {
        file = &invalidation->files[invalidation->next];
        is_changed =
            file->fate != UPLOAD_SAME || file->has_come || file->is_recent;
        invalidation->keeps_made = !is_changed;
        if ((is_changed || file->is_complete) &&
            !drop_known(invalidation, &file->place)) {
            event_add(invalidation->timer, &pause);
            return;
        }
    }
    if (tiers_store_discarded(scheduler_get_tiers(invalidation->scheduler),
                              invalidation->began)) {
        event_add(invalidation->timer, &pause);
        return;
    }
    arg = invalidation->arg;
    is_made = invalidation->is_made;
    invalidation_cancel(invalidation);
    done(arg, is_made);
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
    invalidation->began = clock_ms();
    invalidation->done = done;
    invalidation->arg = arg;
    invalidation->timer =
        evtimer_new(base, invalidation_on_timer, invalidation);
    if (invalidation->timer == NULL) {
        free(invalidation);
        return NULL;
    }
    event_add(invalidation->timer, &now);
    return invalidation;
}

void invalidation_cancel(struct invalidation *invalidation)
{
    if (invalidation != NULL) {
        event_free(invalidation->timer);
        free(invalidation);
    }
}
