/*
 * Copyright (C) the ngx_symcache authors
 *
 * The original of a job: where it is, and what becomes of it.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "scheduler_state.h"
#include "base/async_unlink.h"
#include "base/fd_close.h"
#include "symcached/space/space.h"
#include "symcached/store/store.h"
#include "symcached/intake/intake.h"
#include "source_code.h"
#include "waiter.h"

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

bool job_format_of(const struct job *job, const char *path,
                   enum original_format *format)
{
    enum body_kind kind = BODY_OTHER;
    uint8_t head[BODY_HEAD];
    const char *what;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof(head)) : -1;

    fd_close(fd);
    if (n < 0) {
        return false;
    }
    if (n > 0) {
        kind = body_sniff(head, (size_t)n, &what);
    }
    *format = kind >= BODY_ORIGINAL
                  ? (enum original_format)(kind - BODY_ORIGINAL)
              : job->key.kind == SYMCACHE_KIND_PROGUARDCACHE ? FORMAT_PROGUARD
                                                             : FORMAT_PDB;
    return true;
}

/*
 * Is a download known to lack what the kind needs?  Nothing is known about old
 * downloads, so they count as usable.  A file with symbols only is used from
 * the best slot, because a source has filled that for this kind; one from
 * another slot would replace a file with debug information, so it is used only
 * if no source has such a file.
 */
static bool original_is_useless(const struct job *job, const char *path)
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
static bool take_original_of_kind(struct job *job, symcache_kind_e slot)
{
    const struct transcoder_config *transcoder;

    job->original.slot = slot;
    if (!store_download_find(job_pdb_path(job)) ||
        original_is_useless(job, job_pdb_path(job)) ||
        !job_format_of(job, job_pdb_path(job), &job->original.format)) {
        return false;
    }
    transcoder = job_transcoder(job);
    /* of what the sources have, a newer one may be made */
    return transcoder != NULL &&
           symcache_version_cmp(&transcoder->version, job->order.target) == 0;
}

/* By some ids, there are only originals of some kinds. */
static bool id_has_original(const symcache_key_t *key, symcache_kind_e slot)
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
    const uint8_t *slots =
        symcache_kind((symcache_kind_e)job->key.kind)->slots;
    symcache_kind_e first = job->original.slot;
    unsigned i;

    for (i = 0; slots[i] != SYMCACHE_KINDS; i++) {
        if (i > 0 && source_code_wants_bundle(job)) {
            break;
        }
        if (id_has_original(&job->key, (symcache_kind_e)slots[i]) &&
            take_original_of_kind(job, (symcache_kind_e)slots[i])) {
            job->original.from = JOB_ORIGINAL_DOWNLOADS;
            return true;
        }
    }
    job->original.slot = first;
    return false;
}

bool job_may_leave_original(const struct job *job)
{
    const struct waiter *waiter;
    size_t i;

    if (purpose_is_better(job->purpose)) {
        return false;
    }
    TAILQ_FOREACH(waiter, &job->waiters, entry)
    {
        if (waiter->kind != job->key.kind) {
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
    /* ext4 cuts a file short before it notes the time, and the folder above
     * may have been replaced by another one */
    return stat(original->link, &st) == 0 &&
           (original->unchanged == 0 || st.st_ctime < original->unchanged) &&
           st.st_size == left->st_size && st.st_ino == left->st_ino &&
           st.st_dev == left->st_dev;
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
    job->original.asked_seconds = job->original.lacks_seconds =
        job->original.missing_seconds = 0;
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
