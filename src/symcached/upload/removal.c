/*
 * Copyright (C) the ngx_symcache authors
 */
#include "removal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include "base/log.h"
#include "config/config.h"
#include "symcached/job/job.h"
#include "symcached/tier/tier.h"
#include "invalidation.h"
#include "report.h"
#include "retention.h"
#include "sharing.h"

struct removal {
    LIST_ENTRY(removal) entry;
    struct removals *removals;
    struct config *config; /* reference */
    struct upload_file file;
    char path[PATH_MAX]; /* below the root */
    bool is_try;
    bool is_old;
    bool was_shared; /* the tier had it */
    unsigned unused_for;
    struct tier_original *original;
    struct invalidation *invalidation;
    removal_done_fn done;
    void *arg;
};

struct removals {
    struct event_base *base;
    struct scheduler *scheduler;
    LIST_HEAD(, removal) running;
};

static void end(struct removal *removal, int status, const char *text)
{
    removal_done_fn done = removal->done;
    void *arg = removal->arg;

    if (removal->original != NULL) {
        tiers_original_cancel(removal->original);
    }
    if (removal->invalidation != NULL) {
        invalidation_cancel(removal->invalidation);
    }
    LIST_REMOVE(removal, entry);
    config_unref(removal->config);
    free(removal);
    done(arg, status, text);
}

static void on_dropped(void *arg)
{
    struct removal *removal = arg;

    removal->invalidation = NULL;
    end(removal, 200, "removed");
}

static void print_path(char path[PATH_MAX], const struct removal *removal)
{
    snprintf(path, PATH_MAX, "%.1024s/%.3000s", removal->config->uploads.root,
             removal->path);
}

/* The tier does not have it any more, or there is none. */
static void remove_here(struct removal *removal)
{
    struct debug_place known, *place = &removal->file.place;
    char path[PATH_MAX];

    print_path(path, removal);
    if (unlink(path) != 0 &&
        !(removal->was_shared && (errno == ENOENT || errno == ENOTDIR))) {
        end(removal, errno == ENOENT || errno == ENOTDIR ? 404 : 500,
            strerror(errno));
        return;
    }
    log_info(0, "upload file=%s removed", removal->path);
    if (removal->is_old || !report_place(&known, place->name, place->id)) {
        end(removal, 200, "removed");
        return;
    }
    memcpy(place->ids, known.ids, sizeof(place->ids));
    place->nids = known.nids;
    removal->invalidation =
        invalidation_start(removal->removals->base,
                           removal->removals->scheduler, &removal->file, 1,
                           removal->is_try, on_dropped, removal);
    if (removal->invalidation == NULL) {
        end(removal, 500, strerror(ENOMEM));
    }
}

static void on_original(void *arg, enum tier_original_outcome outcome,
                        const char *detail)
{
    struct removal *removal = arg;
    char path[PATH_MAX];

    removal->original = NULL;
    removal->was_shared = outcome == TIER_ORIGINAL_DONE;
    if (outcome == TIER_ORIGINAL_FAILED) {
        end(removal, 503, detail);
    } else if (outcome == TIER_ORIGINAL_USED) {
        print_path(path, removal);
        (void)retention_touch(path);
        end(removal, 409, detail);
    } else {
        remove_here(removal);
    }
}

void removals_start(struct removals *removals,
                    const struct removal_request *request,
                    removal_done_fn done, void *arg)
{
    struct removal *removal = calloc(1, sizeof(*removal));
    struct debug_place *place;

    if (removal == NULL) {
        done(arg, 503, "out of memory");
        return;
    }
    place = &removal->file.place;
    snprintf(place->name, sizeof(place->name), "%s", request->name);
    snprintf(place->id, sizeof(place->id), "%s", request->id);
    snprintf(place->file, sizeof(place->file), "%s", request->file);
    upload_file_path(removal->path, place, request->is_try);
    removal->is_try = request->is_try;
    removal->is_old = request->is_old;
    removal->unused_for = request->unused_for;
    removal->removals = removals;
    removal->done = done;
    removal->arg = arg;
    removal->config =
        config_ref((struct config *)scheduler_config(removals->scheduler));
    LIST_INSERT_HEAD(&removals->running, removal, entry);
    if (!sharing_is_wanted(removal->config)) {
        remove_here(removal);
        return;
    }
    removal->original = tiers_remove_original(
        scheduler_get_tiers(removals->scheduler), removal->config,
        removal->path, removal->unused_for, on_original, removal);
    if (removal->original == NULL) {
        end(removal, 503, strerror(errno));
    }
}

struct removals *removals_new(struct event_base *base,
                              struct scheduler *scheduler)
{
    struct removals *removals = calloc(1, sizeof(*removals));

    if (removals != NULL) {
        removals->base = base;
        removals->scheduler = scheduler;
        LIST_INIT(&removals->running);
    }
    return removals;
}

void removals_free(struct removals *removals)
{
    struct removal *removal;

    if (removals == NULL) {
        return;
    }
    while ((removal = LIST_FIRST(&removals->running)) != NULL) {
        end(removal, 503, "the helper stops");
    }
    free(removals);
}
