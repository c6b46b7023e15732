/*
 * Copyright (C) the ngx_symcache authors
 */
#include "source_member.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd_close.h"
#include "base/le.h"
#include "base/log.h"
#include "proto/hints.h"
#include "scheduler_state.h"
#include "symcached/intake/intake.h"
#include "symcached/space/space.h"

struct source_member {
    struct waiter *waiter; /* for the SourceCache; or NULL */
    struct unpack *unpack; /* or NULL */
    char *path;            /* of that */
    int in;                /* it, or -1 */
    int out;
};

bool source_member_key(const symcache_key_t *key, symcache_key_t *cache)
{
    uint8_t bytes[16] = {0};
    size_t n = key->build_len;

    if (key->kind != SYMCACHE_KIND_SOURCE ||
        key->id_type != SYMCACHE_ID_BUILD) {
        return false;
    }
    memset(cache, 0, sizeof(*cache));
    (void)symcache_name_parse(SYMCACHE_NAME_NONE, strlen(SYMCACHE_NAME_NONE),
                              cache);
    cache->kind = SYMCACHE_KIND_SOURCECACHE;
    cache->id_type = SYMCACHE_ID_DEBUG;
    memcpy(bytes, key->build, n < sizeof(bytes) ? n : sizeof(bytes));
    le_guid(cache->guid, bytes);
    return true;
}

static void member_close_files(struct source_member *member)
{
    fd_close(member->in);
    fd_close(member->out);
    member->in = member->out = -1;
    free(member->path);
    member->path = NULL;
}

void source_member_leave(struct job *job)
{
    struct source_member *member = job->member;

    if (member == NULL) {
        return;
    }
    if (member->waiter != NULL) {
        scheduler_leave(member->waiter);
    }
    if (member->unpack != NULL) {
        unpack_cancel(member->unpack);
    }
    member_close_files(member);
    free(member);
    job->member = NULL;
}

static void note_member(struct job *job, enum source_outcome outcome,
                        const char *detail, unsigned ms)
{
    struct lookup_attempt attempt = {.source = JOB_ORIGINAL_DOWNLOADS,
                                     .place = job->member->path,
                                     .outcome = outcome,
                                     .detail = detail,
                                     .ms = ms};

    attempt_log_add(job->attempt_log, &attempt);
}

/* It is not there: the sources are asked. */
static void member_go_on(struct job *job)
{
    member_close_files(job->member);
    job_remove_work(job);
    job_set_state(job, JOB_WAITS_SOURCE);
}

static void member_on_cut(void *arg, const struct unpack_result *result)
{
    const struct unpack_attempt *attempt =
        &result->attempts[result->nattempts - 1];
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];
    struct job *job = arg;

    job->member->unpack = NULL;
    if (result->wanted > 0) {
        disk_space_want_for(job->member->out, result->wanted);
    }
    note_member(job, attempt->outcome, attempt->detail, result->ms);
    if (attempt->outcome != SOURCE_FOUND) {
        if (attempt->outcome != SOURCE_NOT_FOUND) {
            job->findings |= FINDING_UNSURE;
        }
        member_go_on(job);
        return;
    }
    member_close_files(job->member);
    job->original.from = JOB_ORIGINAL_DOWNLOADS;
    snprintf(file, sizeof(file), "%s/source", job->work);
    provenance_note(file, JOB_ORIGINAL_DOWNLOADS, SYMCACHE_EXTENT_FULL, 0);
    job_take_target(job, file);
}

/* Opens the SourceCache, and where its text goes.  Returns false with errno. */
static bool member_open_files(struct job *job, const char *path)
{
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];
    struct source_member *member = job->member;

    job->work = job_make_work(
        scheduler_workdir(job->scheduler, job->config->downloads));
    if (job->work == NULL) {
        return false;
    }
    snprintf(file, sizeof(file), "%s/source", job->work);
    member->path = strdup(path);
    member->in = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    member->out =
        open(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return member->path != NULL && member->in >= 0 && member->out >= 0;
}

static void cut_member(struct job *job, const char *path)
{
    const struct limits_config *limits = &job->config->limits;
    struct unpack_request request = {.key = &job->key,
                                     .formats = 1u << FORMAT_SOURCEBUNDLE,
                                     .max = limits->download_size,
                                     .seconds = limits->download_time};
    struct source_member *member = job->member;

    if (member_open_files(job, path)) {
        request.in = member->in;
        request.out = member->out;
        request.keep = disk_space_kept(member->out, &job->config->cache);
        member->unpack =
            unpack_start(job->scheduler->base, &request, member_on_cut, job);
    }
    if (member->unpack ==
        NULL) { /* no end here: the caller may be on the stack */
        log_warn(errno, "job %s: the text of a SourceCache cannot be copied",
                 job_id(job));
        job->findings |= FINDING_UNSURE;
        member_go_on(job);
    }
}

/* There is a SourceCache, or none: what has failed may come yet. */
static void on_cache(void *arg, const struct scheduler_answer *answer)
{
    struct job *job = arg;
    char path[PATH_MAX];

    job->member->waiter = NULL;
    if (answer->kind == SCHEDULER_HIT) {
        store_path(path, job->store->root, answer->key, &answer->version,
                   SYMCACHE_FILE_PLAIN);
        cut_member(job, path);
        return;
    }
    if (answer->kind != SCHEDULER_ABSENT) {
        job->findings |= FINDING_UNSURE;
    }
    member_go_on(job);
}

bool source_member_begin(struct job *job)
{
    static const symcache_version_t version = {1, 0, 0};
    char hints[SYMCACHE_HINTS_MAX + 1] = "", id[SYMCACHE_ID_TEXT_MAX + 1];
    symcache_ask_t ask = {.version = version, .min = version};
    symcache_key_t key;
    struct scheduler_lookup lookup = {.store = job->store,
                                      .key = &key,
                                      .name = key.name,
                                      .ask = &ask,
                                      .via = job_via(job),
                                      .hints = hints,
                                      .wait =
                                          job->config->limits.download_time};

    if (job->member != NULL || !source_member_key(&job->key, &key) ||
        !source_order_has_way(job->store, &key, &version)) {
        return false;
    }
    job->member = calloc(1, sizeof(*job->member));
    if (job->member == NULL) {
        return false;
    }
    job->member->in = job->member->out = -1;
    symcache_id_print(id, &job->key);
    (void)symcache_hint_add(hints, SYMCACHE_HINT_CODE_ID, id, strlen(id));
    job_set_state(job, JOB_WAITS_UPSTREAM);
    job->member->waiter =
        scheduler_ask(job->scheduler, &lookup, on_cache, job);
    return true;
}
