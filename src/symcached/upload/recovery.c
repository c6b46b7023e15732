/*
 * Copyright (C) the ngx_symcache authors
 */
#include "recovery.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "config/config.h"
#include "symcached/upload_index/upload_index.h"
#include "symcached/job/job.h"
#include "symcached/tier/tier.h"
#include "write_ahead_log.h"
#include "invalidation.h"
#include "peers.h"
#include "publication.h"
#include "tier_copy.h"
#include "peer_notification.h"

struct recovery {
    LIST_ENTRY(recovery) entry;
    struct recoveries *recoveries;
    struct publication *files;
    struct config *config; /* reference */
    bool is_try;
    size_t next; /* file that is compared with the tier's */
    struct tier_original *original;
    struct invalidation *invalidation;
    struct peer_notification *notification;
};

struct recoveries {
    struct event_base *base;
    struct scheduler *scheduler;
    struct peers *peers;
    LIST_HEAD(, recovery) running;
};

static void recovery_free(struct recovery *recovery)
{
    if (recovery->original != NULL) {
        tiers_original_cancel(recovery->original);
    }
    invalidation_cancel(recovery->invalidation);
    peer_notification_cancel(recovery->notification);
    publication_free(recovery->files);
    config_unref(recovery->config);
    LIST_REMOVE(recovery, entry);
    free(recovery);
}

static void recovery_on_told(void *arg, const char *untold)
{
    struct recovery *recovery = arg;

    recovery->notification = NULL;
    publication_settled(recovery->files);
    recovery_free(recovery);
}

static void recovery_on_dropped(void *arg, bool is_made)
{
    struct recovery *recovery = arg;

    recovery->invalidation = NULL;
    recovery->notification = peers_tell(
        recovery->recoveries->peers, recovery->files->files,
        recovery->files->nfiles, recovery->is_try, recovery_on_told, recovery);
    if (recovery->notification == NULL) {
        recovery_free(recovery); /* the next process tries it again */
    }
}

/* Returns false when out of memory; then the recovery has ended. */
static bool drop_recovery(struct recovery *recovery)
{
    recovery->invalidation = invalidation_start(
        recovery->recoveries->base, recovery->recoveries->scheduler,
        recovery->files->files, recovery->files->nfiles, recovery->is_try,
        recovery_on_dropped, recovery);
    if (recovery->invalidation == NULL) {
        recovery_free(recovery);
        return false;
    }
    return true;
}

static void print_paths(char below[PATH_MAX], char path[PATH_MAX],
                        const struct recovery *recovery, size_t i)
{
    upload_file_path(below, &recovery->files->files[i].place,
                     recovery->is_try);
    snprintf(path, PATH_MAX, "%.1024s/%.3000s",
             recovery->config->uploads.root, below);
}

static bool compare_digests(struct recovery *recovery);

static void recovery_on_compared(void *arg, enum tier_original_outcome outcome,
                                 const char *detail)
{
    struct recovery *recovery = arg;
    char below[PATH_MAX], path[PATH_MAX];

    recovery->original = NULL;
    print_paths(below, path, recovery, recovery->next++);
    if ((outcome == TIER_ORIGINAL_OTHER ||
         (outcome == TIER_ORIGINAL_DONE && recovery->files->removes)) &&
        uploads_disk_unlink(recovery->config->uploads.root, path) == 0) {
        log_info(0, "upload file=%s removed, as the tier has %s", below,
                 recovery->files->removes ? "none" : "another one");
    }
    if (outcome >= TIER_ORIGINAL_FAILED) {
        log_warn(0, "upload file=%s stays, as it cannot be compared with the "
                    "tier's: %s", below, detail);
        recovery->next = recovery->files->nfiles; /* the others, too */
    }
    (void)compare_digests(recovery);
}

/* The tier is changed first.  If the process was killed right after, the file
 * here is the former one, which no other machine has any more. */
static bool compare_digests(struct recovery *recovery)
{
    struct tiers *tiers = scheduler_get_tiers(recovery->recoveries->scheduler);
    char below[PATH_MAX], path[PATH_MAX];
    int fd;

    for (; tier_copy_is_wanted(recovery->config) &&
           recovery->next < recovery->files->nfiles;
         recovery->next++) {
        print_paths(below, path, recovery, recovery->next);
        fd = uploads_disk_open(recovery->config->uploads.root, path, NULL);
        if (fd < 0) {
            continue;
        }
        recovery->original = tiers_store_original(
            tiers, recovery->config, below, fd, TIER_ORIGINAL_COMPARE, "",
            recovery_on_compared, recovery);
        close(fd);
        if (recovery->original != NULL) {
            return true;
        }
    }
    return drop_recovery(recovery);
}

/* If a file has not got its name, what other machines have may be all that
 * there is of it; unless it was to be removed. */
static void look_at_files(const struct publication *files)
{
    char path[PATH_MAX];
    struct stat st;
    bool is_there;
    size_t i;

    for (i = 0; i < files->nfiles; i++) {
        const struct symstore_path *place = &files->files[i].place;

        snprintf(path, sizeof(path), "%.1100s/%s/%s/%s", files->root,
                 place->name, place->id, place->file);
        is_there = lstat(path, &st) == 0;
        files->files[i].fate = UPLOAD_REPLACED;
        files->files[i].is_unsure = !files->removes && !is_there;
        (void)upload_index_change(files->root, &files->files[i].place,
                                  is_there);
    }
}

static void run_take(void *data)
{
    struct publication *files = *(struct publication **)data;

    files->intent = write_ahead_log_take(files->root, files);
    if (files->intent != NULL) {
        look_at_files(files);
    }
}

static void drop_taken(void *data)
{
    publication_free(*(struct publication **)data);
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
    recovery->config = config_ref(
        (struct config *)scheduler_config(recoveries->scheduler));
    LIST_INSERT_HEAD(&recoveries->running, recovery, entry);
    recovery->files = publication_new(below);
    if (recovery->files != NULL &&
        uploads_disk_call(below, run_take, drop_taken, &recovery->files,
                          sizeof(recovery->files)) != 0) {
        recovery->files = NULL; /* the thread has it */
    }
    if (recovery->files == NULL || recovery->files->intent == NULL) {
        recovery_free(recovery);
        return false;
    }
    log_info(0, "uploads: %s %zu file%s was broken off; what was known of "
             "that is dropped",
             recovery->files->removes ? "removing" : "storing",
             recovery->files->nfiles, recovery->files->nfiles == 1 ? "" : "s");
    return compare_digests(recovery);
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
