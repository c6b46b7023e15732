/*
 * Copyright (C) the ngx_symcache authors
 */
#include "recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include "base/log.h"
#include "config/config.h"
#include "symcached/job/job.h"
#include "intent.h"
#include "invalidation.h"
#include "peers.h"
#include "publication.h"

struct recovery {
    LIST_ENTRY(recovery) entry;
    struct recoveries *recoveries;
    struct publication *files;
    bool is_try;
    struct invalidation *invalidation;
    struct telling *telling;
};

struct recoveries {
    struct event_base *base;
    struct scheduler *scheduler;
    struct peers *peers;
    LIST_HEAD(, recovery) running;
};

static void recovery_free(struct recovery *recovery)
{
    if (recovery->invalidation != NULL) {
        invalidation_cancel(recovery->invalidation);
    }
    if (recovery->telling != NULL) {
        telling_cancel(recovery->telling);
    }
    publication_free(recovery->files);
    LIST_REMOVE(recovery, entry);
    free(recovery);
}

static void on_told(void *arg, const char *untold)
{
    struct recovery *recovery = arg;

    recovery->telling = NULL;
    publication_settled(recovery->files);
    recovery_free(recovery);
}

static void on_dropped(void *arg)
{
    struct recovery *recovery = arg;

    recovery->invalidation = NULL;
    recovery->telling = peers_tell(recovery->recoveries->peers,
                                   recovery->files->files,
                                   recovery->files->nfiles, recovery->is_try,
                                   on_told, recovery);
    if (recovery->telling == NULL) {
        recovery_free(recovery); /* the next process tries it again */
    }
}

/* If a file has not got its name, what other machines have may be all that
 * there is of it; unless it was to be removed. */
static void look_at_files(const struct publication *files, const char *root,
                          bool is_try)
{
    char below[PATH_MAX], path[PATH_MAX];
    struct stat st;
    size_t i;

    for (i = 0; i < files->nfiles; i++) {
        upload_file_path(below, &files->files[i].place, is_try);
        snprintf(path, sizeof(path), "%.1024s/%.3000s", root, below);
        files->files[i].fate = UPLOAD_REPLACED;
        files->files[i].is_unsure =
            !files->removes && lstat(path, &st) != 0;
    }
}

/* Returns whether there may be more. */
static bool take_one(struct recoveries *recoveries, const char *root,
                     bool is_try)
{
    struct recovery *recovery = calloc(1, sizeof(*recovery));
    char below[PATH_MAX];

    if (recovery == NULL) {
        return false;
    }
    snprintf(below, sizeof(below), "%.1024s%s", root,
             is_try ? "/" UPLOADS_TRY : "");
    recovery->recoveries = recoveries;
    recovery->is_try = is_try;
    LIST_INSERT_HEAD(&recoveries->running, recovery, entry);
    recovery->files = publication_new(below);
    if (recovery->files != NULL) {
        recovery->files->intent = intent_take(below, recovery->files);
    }
    if (recovery->files == NULL || recovery->files->intent == NULL) {
        recovery_free(recovery);
        return false;
    }
    log_info(0, "uploads: a process was killed while it %s %zu files; "
             "what was known of them is dropped",
             recovery->files->removes ? "removed" : "stored",
             recovery->files->nfiles);
    look_at_files(recovery->files, root, is_try);
    recovery->invalidation = invalidation_start(
        recoveries->base, recoveries->scheduler, recovery->files->files,
        recovery->files->nfiles, is_try, on_dropped, recovery);
    if (recovery->invalidation == NULL) {
        recovery_free(recovery);
        return false;
    }
    return true;
}

void recoveries_look(struct recoveries *recoveries)
{
    const char *root = scheduler_config(recoveries->scheduler)->uploads.root;

    while (root != NULL && take_one(recoveries, root, false)) {
    }
    while (root != NULL && take_one(recoveries, root, true)) {
    }
}

struct recoveries *recoveries_new(struct event_base *base,
                                  struct scheduler *scheduler,
                                  struct peers *peers)
{
    struct recoveries *recoveries = calloc(1, sizeof(*recoveries));

    if (recoveries != NULL) {
        recoveries->base = base;
        recoveries->scheduler = scheduler;
        recoveries->peers = peers;
        LIST_INIT(&recoveries->running);
    }
    return recoveries;
}

void recoveries_free(struct recoveries *recoveries)
{
    if (recoveries == NULL) {
        return;
    }
    while (!LIST_EMPTY(&recoveries->running)) {
        recovery_free(LIST_FIRST(&recoveries->running));
    }
    free(recoveries);
}
