/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the scheduler makes in the folders of a configuration that it takes
 * over: in each a work folder for the files of jobs that run, and in a store's
 * root the list of versions that can be made.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "scheduler_state.h"
#include "base/disk_full.h"
#include "base/log.h"
#include "symcached/space/space.h"
#include "symcached/store/store.h"
#include "symcached/upload_index/upload_index.h"

static struct scheduler_root *find_root(const struct scheduler *scheduler,
                                        const char *root)
{
    struct scheduler_root *r;

    SLIST_FOREACH(r, &scheduler->roots, next)
    {
        if (strcmp(r->path, root) == 0) {
            return r;
        }
    }
    return NULL;
}

struct workdir *scheduler_workdir(struct scheduler *scheduler,
                                  const char *root)
{
    const struct scheduler_root *r = find_root(scheduler, root);

    return r != NULL ? r->workdir : NULL;
}

void scheduler_note_entry(struct scheduler *scheduler, const char *root,
                          const char *job, int errnum)
{
    struct scheduler_root *r = find_root(scheduler, root);

    if (r == NULL || errnum == r->unwritten) {
        return;
    }
    r->unwritten = errnum;
    if (errnum == 0) {
        log_info(0, "\"%s\": negative entries are written again", root);
    } else {
        log_crit(errnum, "\"%s\": negative entries are not written, and keys "
                 "that are absent count as errors, %s first", root, job);
    }
}

static int open_root(struct scheduler *scheduler, const char *path,
                     char *error, size_t size)
{
    struct scheduler_root *r;

    if (scheduler_workdir(scheduler, path) != NULL) {
        return 0;
    }

    r = calloc(1, sizeof(*r));
    if (r != NULL) {
        r->path = strdup(path);
        r->workdir = workdir_open(path);
    }
    if (r == NULL || r->path == NULL || r->workdir == NULL) {
        snprintf(error, size, "\"%s\" cannot be used: %s%s", path,
                 strerror(errno),
                 errno == EROFS || errno == EACCES
                     ? "; its owner must be symcached's user, and a systemd "
                       "unit must have it in ReadWritePaths="
                     : "");
        if (r != NULL) {
            workdir_close(r->workdir);
            free(r->path);
            free(r);
        }
        return -1;
    }
    SLIST_INSERT_HEAD(&scheduler->roots, r, next);
    return 0;
}

/* A full disk is no error, since a helper that does not start cannot make room;
 * scheduler_keep_transcoders() then writes the list later. */
static int put_transcoders(struct scheduler *scheduler,
                           const struct store_config *store,
                           const symcache_version_t *versions, size_t n)
{
    char tmp[WORKDIR_PATH_MAX];

    if (workdir_file(scheduler_workdir(scheduler, store->root), tmp) == 0 &&
        transcoder_versions_write(store->root, tmp, versions, n) == 0) {
        return 0;
    }
    if (!disk_is_full(errno)) {
        return -1;
    }
    log_warn(errno, "\"%s\" has no room for the list of versions",
             store->root);
    transcoder_versions_remove_outdated(store->root, versions, n);
    return 0;
}

static int write_transcoders(struct scheduler *scheduler,
                             const struct store_config *store, char *error,
                             size_t size)
{
    symcache_version_t *versions;
    const symcache_version_t *version;
    size_t i, j, n = 0;
    int rc;

    versions = calloc(store->ntranscoders + 1, sizeof(*versions));
    if (versions == NULL) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    for (i = 0; i < store->ntranscoders; i++) {
        if (store->transcoders[i].makes != SYMCACHE_KIND_SYMCACHE) {
            continue; /* nginx knows the version of the others */
        }
        version = &store->transcoders[i].version;
        for (j = 0; j < n && symcache_version_cmp(&versions[j], version) != 0;
             j++) {
        }
        if (j == n) { /* each version once, whatever the input */
            versions[n++] = *version;
        }
    }

    rc = put_transcoders(scheduler, store, versions, n);
    if (rc != 0) {
        snprintf(error, size, "\"%s\" cannot be written to: %s", store->root,
                 strerror(errno));
    }
    free(versions);
    return rc;
}

void scheduler_keep_transcoders(struct scheduler *scheduler,
                                const struct store_config *store)
{
    char error[256];
    size_t i;

    for (i = 0; i < scheduler->config->nstores; i++) {
        if (strcmp(scheduler->config->stores[i].root, store->root) == 0 &&
            !transcoder_versions_exist(store->root)) {
            (void)write_transcoders(scheduler, &scheduler->config->stores[i],
                                    error, sizeof(error));
        }
    }
}

void scheduler_keep_stores(struct scheduler *scheduler)
{
    size_t i;

    for (i = 0; i < scheduler->config->nstores; i++) {
        scheduler_keep_transcoders(scheduler, &scheduler->config->stores[i]);
    }
}

/* Replaces the lists that were written for a configuration that failed. */
static void restore_transcoders(struct scheduler *scheduler)
{
    char error[256];
    size_t i;

    for (i = 0; i < scheduler->config->nstores; i++) {
        (void)write_transcoders(scheduler, &scheduler->config->stores[i],
                                error, sizeof(error));
    }
}

void scheduler_forget_former(struct scheduler *scheduler)
{
    sources_keep(scheduler->sources, scheduler->config);
    source_stats_keep(scheduler->source_stats, scheduler->config);
}

/* Counts all jobs that run as jobs of a former configuration. */
static void leave_former(struct scheduler *scheduler)
{
    const struct job *job;

    scheduler->former = 0;
    LIST_FOREACH(job, &scheduler->all, all)
    {
        scheduler->former++;
    }
    if (scheduler->former == 0) {
        scheduler_forget_former(scheduler);
    }
}

/* What the folder of uploads lacks. */
struct uploads_root {
    struct config *config; /* reference */
    int lost;              /* errno: it is not the one that was there */
    int unwritable;        /* errno */
};

static void run_uploads_root(void *data)
{
    struct uploads_root *root = data;
    const struct uploads_config *uploads = &root->config->uploads;
    char path[PATH_MAX];

    root->lost = root_mark_check(root->config);
    if (root->lost != 0) {
        return;
    }
    snprintf(path, sizeof(path), "%.1024s/" UPLOADS_TRY, uploads->root);
    if (workdir_make_path(path) != 0 || access(uploads->root, W_OK) != 0) {
        root->unwritable = errno;
    } else {
        root_mark_make(root->config);
    }
}

static void drop_uploads_root(void *data)
{
    config_unref(((struct uploads_root *)data)->config);
}

/* A folder that is not there, or hangs, is a source that fails. */
static void open_uploads_root(struct config *config)
{
    struct uploads_root root = {.config = config_ref(config)};

    if (uploads_disk_call(config->uploads.root, run_uploads_root,
                          drop_uploads_root, &root, sizeof(root)) != 0) {
        return; /* which the log has */
    }
    drop_uploads_root(&root);
    if (root.lost != 0) {
        log_error(root.lost,
                  "\"%s/" ROOT_MARK "\" was there and is missing, as if "
                  "the disk were: no upload is called absent, until the "
                  "disk is back or you make this file",
                  config->uploads.root);
    } else if (root.unwritable != 0) {
        log_warn(root.unwritable,
                 "\"%s\" cannot be written to: no upload is taken",
                 config->uploads.root);
    }
}

int scheduler_configure(struct scheduler *scheduler, struct config *config,
                        char *error, size_t size)
{
    char path[PATH_MAX];
    size_t i;

    if (open_root(scheduler, config->downloads, error, size) != 0) {
        return -1;
    }
    for (i = 0; i < config->nstores; i++) {
        if (open_root(scheduler, config->stores[i].root, error, size) != 0) {
            return -1;
        }
        /* nginx learns in this folder which keys were forgotten, so it is made
         * before the first download; on a full disk, with that */
        store_download_root(path, config->downloads, config->stores[i].name);
        (void)workdir_make_path(path);
    }
    if (config->uploads.root != NULL) {
        open_uploads_root(config);
    }
    for (i = 0; i < config->nstores; i++) {
        if (write_transcoders(scheduler, &config->stores[i], error, size) !=
            0) {
            if (scheduler->config != config) {
                restore_transcoders(scheduler);
            }
            return -1;
        }
    }

    if (scheduler->config != config) {
        config_unref(scheduler->config);
        scheduler->config = config_ref(config);
        transcoder_healths_reset(scheduler->healths, NULL);
        negcache_drop_errors(scheduler->negcache);
        tiers_configure(scheduler->tiers, config);
        leave_former(scheduler);
    }
    scheduler_host_freed(scheduler); /* the limits may have grown */
    return 0;
}
