/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is kept in the folders of the configuration: in each a work folder for
 * the files of jobs that run, and in a store's root the list of versions that
 * can be made.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <event2/event.h>
#include "scheduler.h"
#include "base/async_unlink.h"
#include "base/disk_full.h"
#include "base/log.h"
#include "symcached/space/space.h"
#include "symcached/store/store.h"
#include "symcached/intake/intake.h"
#include "source_code.h"
#include "waiter.h"

struct workdir *scheduler_workdir(struct scheduler *scheduler,
                                  const char *root)
{
    struct scheduler_root *r;

    SLIST_FOREACH(r, &scheduler->roots, next)
    {
        if (strcmp(r->path, root) == 0) {
            return r->workdir;
        }
    }
    return NULL;
}

/* of one job ------------------------------------------------------------- */

void job_original_key(const struct job *job, symcache_key_t *key)
{
    if (section_wants_file(job)) {
        section_file_key(job, key);
        return;
    }
    symcache_key_copy(key, &job->key);
    key->kind = (uint8_t)job->original.slot;
}

const char *job_pdb_path(const struct job *job)
{
    static char path[PATH_MAX];
    symcache_key_t key;

    if (job->original.link != NULL) {
        return job->original.link;
    }
    job_original_key(job, &key);
    store_download_path(path, job->config->downloads, job->store->name, &key);
    return path;
}

enum original_format job_format_of(const struct job *job, const char *path)
{
    enum body_kind kind = BODY_OTHER;
    uint8_t head[BODY_HEAD];
    const char *what;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof(head)) : -1;

    if (fd >= 0) {
        close(fd);
    }
    if (n > 0) {
        kind = body_sniff(head, (size_t)n, &what);
    }
    if (kind >= BODY_ORIGINAL) {
        return (enum original_format)(kind - BODY_ORIGINAL);
    }
    return job->key.kind == SYMCACHE_KIND_PROGUARDCACHE ? FORMAT_PROGUARD
                                                        : FORMAT_PDB;
}

/*
 * Is a download known to lack what the kind needs?  Nothing is known about old
 * downloads, so they count as usable.  A file with symbols only is used from
 * the best slot, because a source has filled that for this kind; one from
 * another slot would replace a file with debug information, so it is used only
 * if no source has such a file.
 */
static bool is_useless(const struct job *job, const char *path)
{
    const symcache_kind_t *kind =
        symcache_kind((symcache_kind_e)job->key.kind);
    struct provenance provenance;

    if (!provenance_read(path, &provenance) ||
        (provenance.features & ~(unsigned)SYMCACHE_HAS_LINKS) == 0) {
        if (provenance.features & kind->needs) {
            return false;
        }
        return (kind->needs & SYMCACHE_HAS_SYMBOLS) == 0 &&
               kind->slots[1] != SYMCACHE_KINDS;
    }
    if ((kind->needs & SYMCACHE_HAS_DEBUG) && job->reach != JOB_ASKS_REST &&
        job->key.id_type != SYMCACHE_ID_PE &&
        (int)job->original.slot != kind->slots[0]) {
        return !(provenance.features & SYMCACHE_HAS_DEBUG);
    }
    return (provenance.features & kind->needs) == 0;
}

/* Sets the original if there is one in a slot of the downloads, of which the
 * target can be made. */
static bool take_slot(struct job *job, symcache_kind_e slot)
{
    const struct transcoder_config *transcoder;

    job->original.slot = slot;
    if (!store_download_find(job_pdb_path(job)) ||
        is_useless(job, job_pdb_path(job))) {
        return false;
    }
    job->original.format = job_format_of(job, job_pdb_path(job));
    transcoder = job_transcoder(job);
    /* of what the sources have, a newer one may be made */
    return transcoder != NULL &&
           symcache_version_cmp(&transcoder->version, job->order.target) == 0;
}

/* By some ids, there are only originals of some kinds. */
static bool has_slot(const symcache_key_t *key, symcache_kind_e slot)
{
    switch (key->id_type) {
    case SYMCACHE_ID_PE:
        return slot == SYMCACHE_KIND_EXECUTABLE;
    case SYMCACHE_ID_HASH:
        return slot != SYMCACHE_KIND_SYM;
    default:
        return slot != SYMCACHE_KIND_SYMBFILE;
    }
}

bool job_take_download(struct job *job)
{
    const uint8_t *slots = symcache_kind((symcache_kind_e)job->key.kind)->slots;
    symcache_kind_e first = job->original.slot;
    unsigned i;

    for (i = 0; slots[i] != SYMCACHE_KINDS; i++) {
        if (i > 0 && source_code_wants_bundle(job)) {
            break;
        }
        if (has_slot(&job->key, (symcache_kind_e)slots[i]) &&
            take_slot(job, (symcache_kind_e)slots[i])) {
            job->original.from = JOB_ORIGINAL_DOWNLOADS;
            return true;
        }
    }
    job->original.slot = first;
    return false;
}

char *job_name_work(struct workdir *workdir)
{
    char path[WORKDIR_PATH_MAX];

    if (workdir == NULL) {
        errno = ENOENT;
        return NULL;
    }
    return workdir_file(workdir, path) == 0 ? strdup(path) : NULL;
}

char *job_make_work(struct workdir *workdir)
{
    char *work = job_name_work(workdir);

    if (work != NULL && mkdir(work, 0755) != 0) {
        free(work);
        return NULL;
    }
    return work;
}

void job_remove_work(struct job *job)
{
    if (job->work != NULL) {
        async_unlink_add(job->work);
        free(job->work);
        job->work = NULL;
    }
}

bool job_may_leave_original(const struct job *job)
{
    const struct waiter *w;
    size_t i;

    if (purpose_is_better(job->purpose)) {
        return false;
    }
    TAILQ_FOREACH(w, &job->waiters, entry)
    {
        if (w->kind != job->key.kind) {
            return false;
        }
    }
    for (i = 0; i < FORMATS; i++) {
        if ((job->order.formats & 1u << i) &&
            !transcode_is_ours(job->order.transcoders[i])) {
            return false;
        }
    }
    return true;
}

bool job_has_original(const struct job *job)
{
    const struct job_original *original = &job->original;
    const struct stat *left = &original->left;
    struct stat st;

    if (original->link == NULL) {
        return store_download_find(job_pdb_path(job));
    }
    /* ext4 cuts a file short before it notes the time, and the folder above may
     * have been replaced by another one */
    return stat(original->link, &st) == 0 &&
           (original->unchanged == 0 || st.st_ctime < original->unchanged) &&
           st.st_size == left->st_size &&
           st.st_ino == left->st_ino && st.st_dev == left->st_dev;
}

void job_leave_original(struct job *job)
{
    size_t i;

    if (job->original.folder != NULL) {
        async_unlink_add(job->original.folder);
    }
    free(job->original.folder);
    free(job->original.link);
    job->original.folder = job->original.link = NULL;
    for (i = 0; i < SECONDS; i++) {
        free(job->original.seconds[i]);
        job->original.seconds[i] = NULL;
    }
    job->original.asked_seconds = job->original.lacks_seconds = 0;
}

void job_discard_pdb(struct job *job)
{
    struct workdir *workdir =
        scheduler_workdir(job->scheduler, job->config->downloads);
    char aside[WORKDIR_PATH_MAX];

    if (job->original.link != NULL) {
        job_leave_original(job);
        return;
    }
    if (workdir != NULL) {
        workdir_file(workdir, aside);
        if (rename(job_pdb_path(job), aside) == 0) {
            async_unlink_add(aside);
            return;
        }
    }
    (void)unlink(job_pdb_path(job));
}

/* the list of versions --------------------------------------------------- */

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
        /* a folder that is not there is a source that fails */
        snprintf(path, sizeof(path), "%.1024s/" UPLOADS_TRY,
                 config->uploads.root);
        if (workdir_make_path(path) != 0 ||
            access(config->uploads.root, W_OK) != 0) {
            log_warn(errno, "\"%s\" cannot be written to: no upload is taken",
                     config->uploads.root);
        }
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
        transcoder_healths_reset(scheduler->trusts, NULL);
        tiers_configure(scheduler->tiers, config);
        leave_former(scheduler);
    }
    scheduler_host_freed(scheduler); /* the limits may have grown */
    return 0;
}
