/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the hub keeps in the folders of the configuration: a work folder in
 * each, and in a store's root the list of versions that can be made.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event2/event.h>
#include "job.h"
#include "log.h"
#include "room.h"
#include "store.h"

struct workdir *jobs_workdir(struct jobs *jobs, const char *root)
{
    struct jobs_root *r;

    SLIST_FOREACH(r, &jobs->roots, next)
    {
        if (strcmp(r->path, root) == 0) {
            return r->workdir;
        }
    }
    return NULL;
}

static int open_root(struct jobs *jobs, const char *path, char *error,
                     size_t size)
{
    struct jobs_root *r;

    if (jobs_workdir(jobs, path) != NULL) {
        return 0;
    }

    r = calloc(1, sizeof(*r));
    if (r != NULL) {
        r->path = strdup(path);
        r->workdir = workdir_open(path);
    }
    if (r == NULL || r->path == NULL || r->workdir == NULL) {
        snprintf(error, size, "\"%s\" cannot be used: %s", path,
                 strerror(errno));
        if (r != NULL) {
            workdir_close(r->workdir);
            free(r->path);
            free(r);
        }
        return -1;
    }
    SLIST_INSERT_HEAD(&jobs->roots, r, next);
    return 0;
}

/* On a full disk later, see jobs_keep_transcoders(): who does not start makes
 * no room either. */
static int put_transcoders(struct jobs *jobs, const struct store_config *store,
                           const symcache_version_t *versions, size_t n)
{
    char tmp[WORKDIR_PATH_MAX];

    if (workdir_file(jobs_workdir(jobs, store->root), tmp) == 0 &&
        store_write_transcoders(store->root, tmp, versions, n) == 0) {
        return 0;
    }
    if (!room_is_out(errno)) {
        return -1;
    }
    log_warn(errno, "\"%s\" has no room for the list of versions",
             store->root);
    store_doubt_transcoders(store->root, versions, n);
    return 0;
}

static int write_transcoders(struct jobs *jobs,
                             const struct store_config *store, char *error,
                             size_t size)
{
    symcache_version_t *versions;
    size_t i;
    int rc;

    versions = calloc(store->ntranscoders + 1, sizeof(*versions));
    if (versions == NULL) {
        snprintf(error, size, "out of memory");
        return -1;
    }
    for (i = 0; i < store->ntranscoders; i++) {
        versions[i] = store->transcoders[i].version;
    }

    rc = put_transcoders(jobs, store, versions, store->ntranscoders);
    if (rc != 0) {
        snprintf(error, size, "\"%s\" cannot be written to: %s", store->root,
                 strerror(errno));
    }
    free(versions);
    return rc;
}

void jobs_keep_transcoders(struct jobs *jobs, const struct store_config *store)
{
    char error[256];
    size_t i;

    for (i = 0; i < jobs->config->nstores; i++) {
        if (strcmp(jobs->config->stores[i].root, store->root) == 0 &&
            !store_has_transcoders(store->root)) {
            (void)write_transcoders(jobs, &jobs->config->stores[i], error,
                                    sizeof(error));
        }
    }
}

void jobs_keep_stores(struct jobs *jobs)
{
    size_t i;

    for (i = 0; i < jobs->config->nstores; i++) {
        jobs_keep_transcoders(jobs, &jobs->config->stores[i]);
    }
}

/* What was written for a configuration that did not come about. */
static void restore_transcoders(struct jobs *jobs)
{
    char error[256];
    size_t i;

    for (i = 0; i < jobs->config->nstores; i++) {
        (void)write_transcoders(jobs, &jobs->config->stores[i], error,
                                sizeof(error));
    }
}

void jobs_forget_former(struct jobs *jobs)
{
    sources_keep(jobs->sources, jobs->config);
    tally_keep(jobs->tally, jobs->config);
}

/* All jobs that run are now those of a former configuration. */
static void leave_former(struct jobs *jobs)
{
    const struct job *job;

    jobs->former = 0;
    LIST_FOREACH(job, &jobs->all, all)
    {
        jobs->former++;
    }
    if (jobs->former == 0) {
        jobs_forget_former(jobs);
    }
}

int jobs_configure(struct jobs *jobs, struct config *config, char *error,
                   size_t size)
{
    size_t i;

    if (open_root(jobs, config->downloads, error, size) != 0) {
        return -1;
    }
    for (i = 0; i < config->nstores; i++) {
        if (open_root(jobs, config->stores[i].root, error, size) != 0) {
            return -1;
        }
    }
    for (i = 0; i < config->nstores; i++) {
        if (write_transcoders(jobs, &config->stores[i], error, size) != 0) {
            if (jobs->config != config) {
                restore_transcoders(jobs);
            }
            return -1;
        }
    }

    if (jobs->config != config) {
        config_unref(jobs->config);
        jobs->config = config_ref(config);
        leave_former(jobs);
    }
    jobs_host_freed(jobs); /* the limits may have grown */
    return 0;
}
