/*
 * Copyright (C) the ngx_symcache authors
 */

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <event2/event.h>
#include "ahead.h"
#include "id.h"
#include "job.h"
#include "log.h"
#include "publish.h"
#include "quality.h"
#include "room.h"
#include "store.h"

/* A source's wish for patience is obeyed up to here. */
#define RETRY_AFTER_MAX 3600

/* Seconds between two questions to a SymCache server that works on it. */
#define AGAIN_MAX 60

static const char *const state_names[] = {
    "new",
    "waits for a download slot",
    "in source",
    "waits for a SymCache server",
    "waits for a transcoder slot",
    "transcoding",
    "ended",
};

const char *job_state_name(enum job_state state)
{
    return state_names[state];
}

struct job *job_new(struct jobs *jobs, struct config *config,
                    const struct store_config *store,
                    const struct transcoder_config *transcoder,
                    const symcache_key_t *key, const char *name)
{
    size_t len = offsetof(struct job, key.name) + key->name_len + 1;
    struct job *job = calloc(1, len + strlen(name) + 1);
    char id[ID_MAX];

    if (job == NULL) {
        return NULL;
    }

    id_print(id, store->name, key);
    LIST_INIT(&job->waiters);
    job->jobs = jobs;
    job->store = store;
    job->transcoder = transcoder;
    symcache_key_copy(&job->key, key);
    job->name = (char *)job + len;
    memcpy(job->name, name, strlen(name) + 1);
    job->trail = trail_new(id);
    if (job->trail == NULL) {
        free(job);
        return NULL;
    }

    job->id = trail_id(job->trail);
    job->config = config_ref(config);
    job->began = job->step = clock_ms();
    order_begin(&job->order, store, &job->key, transcoder);
    return job;
}

void job_free(struct job *job)
{
    config_unref(job->config);
    if (job->again != NULL) {
        event_free(job->again);
    }
    trail_free(job->trail);
    free(job->text);
    free(job->via);
    free(job);
}

void job_join_via(struct job *job, const char *via)
{
    if (via[0] != '\0' && job->via == NULL) {
        job->via = calloc(1, VIA_MAX);
    }
    if (job->via != NULL) {
        via_join(job->via, via);
    }
}

const char *job_text(const struct job *job)
{
    return job->text != NULL ? job->text : "";
}

/* Thousands of jobs may wait, and few have something to say. */
__attribute__((format(printf, 2, 3))) static void say(struct job *job,
                                                      const char *format, ...)
{
    char text[ABSENT_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    free(job->text);
    job->text = strdup(text);
}

static void set_state(struct job *job, enum job_state state)
{
    enum job_state from = job->state;

    log_debug(0, "job %s: %s -> %s", job->id, state_names[from],
              state_names[state]);
    job->state = state;
    jobs_moved(job, from, state);
}

/* Last step of every job: the hub answers the waiters and frees it. */
static void end(struct job *job, enum job_outcome outcome)
{
    ahead_drop(job);
    job_remove_work(job);
    if (outcome == JOB_MALFORMED) {
        /* what the sources have by then is looked at afresh */
        job_discard_pdb(job);
    }
    if (job->better && (outcome == JOB_NOTFOUND || outcome == JOB_MALFORMED)) {
        outcome = JOB_UNCHANGED; /* the file is as good as it was */
    }
    job->outcome = outcome;
    job_record(job);
    set_state(job, JOB_ENDED);
}

static void end_with_error(struct job *job, int errnum, const char *what)
{
    if (errnum != 0) {
        say(job, "%s: %s", what, strerror(errnum));
    } else {
        say(job, "%s", what);
    }
    end(job, JOB_ERROR);
}

void job_begin(struct job *job, size_t better)
{
    metrics_add(METRIC_JOB_STARTED, 1);
    if (better > 0) {
        job->better = true;
        job->order.end = better;
    } else if (job->transcoder->command != NULL &&
               store_download_find(job_pdb_path(job))) {
        metrics_add(METRIC_DOWNLOAD_REUSED, 1);
        job->from = "downloads";
        set_state(job, JOB_WAITS_TRANSCODER);
        return;
    }
    set_state(job, JOB_WAITS_SOURCE);
}

/* sources --------------------------------------------------------------- */

static void on_attempt(void *arg, const struct source_attempt *attempt)
{
    struct job *job = arg;

    trail_add(job->trail, attempt);
    tally_add(job->jobs->tally, attempt);
    metrics_add(METRIC_DOWNLOAD_BYTES, attempt->bytes);
    job->bytes += attempt->bytes;
    job->publics_only = attempt->publics_only;
    if (attempt->outcome == SOURCE_PENDING) {
        job->again_after = attempt->retry_after;
    } else if (attempt->retry_after > job->retry_after) {
        job->retry_after = attempt->retry_after < RETRY_AFTER_MAX
                               ? attempt->retry_after
                               : RETRY_AFTER_MAX;
    }
}

static void leave_sources(struct job *job)
{
    unsigned ms = clock_since(job->step);

    ahead_drop(job);
    job_remove_work(job);
    job->download_ms += ms;
    metrics_add(METRIC_DOWNLOAD_MS, ms);
}

/* The sources and transcoders of now may know better than those of then. */
static bool is_outdated(const struct job *job)
{
    return job->config != jobs_config(job->jobs);
}

/* No PDB of the key can be transcoded, and no server has its SymCache. */
static void end_malformed(struct job *job)
{
    if (job->unsure_server || is_outdated(job)) {
        end(job, JOB_ERROR);
    } else {
        end(job, job->kept || job->order.kept ? JOB_UNCHANGED : JOB_MALFORMED);
    }
}

static void sources_exhausted(struct job *job)
{
    char looked[ABSENT_TEXT_MAX];

    if (job->forgotten) {
        /* published meanwhile, says who forgets: once more from the first */
        job->forgotten = false;
        job->unsure = false;
        job->unsure_server = false;
        job->kept = false;
        job->malformed = false;
        order_rewind(&job->order);
        job_ask_source(job);
        return;
    }

    leave_sources(job);
    if (job->malformed) {
        end_malformed(job);
        return;
    }

    job->exhausted = true;
    trail_print(job->trail, looked, sizeof(looked));
    say(job, "%s", looked[0] != '\0' ? looked : "no source is asked for it");
    if (job->unsure || is_outdated(job)) {
        end(job, JOB_ERROR);
        return;
    }
    end(job, job->kept || job->order.kept ? JOB_UNCHANGED : JOB_NOTFOUND);
}

/* Is what is on disk from a PDB with more in it? */
static bool is_worse(const struct job *job)
{
    char path[PATH_MAX];

    store_path(path, job->store->root, &job->key, &job->transcoder->version,
               SYMCACHE_FILE_PLAIN);
    return job->better && quality_keeps(path, job->from, job->publics_only);
}

static void publish(struct job *job, const symcache_version_t *version,
                    const char *file);

static void on_found(struct job *job)
{
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];

    snprintf(file, sizeof(file), "%s/%s", job->work, job->key.name);
    if (is_worse(job)) {
        leave_sources(job);
        say(job, "the PDB has public symbols only");
        end(job, JOB_UNCHANGED);
        return;
    }

    quality_note(file, job->from, job->publics_only);
    if (job->source->type == SOURCE_SYMCACHE) {
        publish(job, &job->symcache.version, file);
        return;
    }

    job_discard_pdb(job);
    if (store_rename(file, job_pdb_path(job)) != 0) {
        int errnum = errno;

        leave_sources(job);
        end_with_error(job, errnum, "the PDB cannot be stored");
        return;
    }
    leave_sources(job);
    set_state(job, JOB_WAITS_TRANSCODER);
}

/* The server's time is up: for a download and a conversion of its own. */
static bool waited_enough(const struct job *job)
{
    const struct limits_config *limits = &job->config->limits;
    uint64_t seconds =
        (uint64_t)limits->download_time + limits->transcode_time;

    return clock_since(job->pending) >= seconds * 1000;
}

static void on_again(evutil_socket_t fd, short events, void *arg);

/* Leaves the slot to others until it is time to ask the same source again. */
static void wait_for_upstream(struct job *job)
{
    struct timeval delay = {.tv_sec = job->again_after};

    if (delay.tv_sec < 1) {
        delay.tv_sec = 1;
    } else if (delay.tv_sec > AGAIN_MAX) {
        delay.tv_sec = AGAIN_MAX;
    }
    leave_sources(job);
    if (job->again == NULL) {
        job->again = evtimer_new(job->jobs->base, on_again, job);
    }
    if (job->again == NULL) {
        end_with_error(job, ENOMEM, "the source cannot be asked again");
        return;
    }
    evtimer_add(job->again, &delay);
    set_state(job, JOB_WAITS_UPSTREAM);
}

static void on_again(evutil_socket_t fd, short events, void *arg)
{
    set_state(arg, JOB_WAITS_SOURCE);
}

/* Returns false if it is to be asked again, and the job waits for that. */
static bool is_done(struct job *job, enum source_outcome outcome)
{
    if (outcome == SOURCE_PENDING) {
        if (job->pending == 0) {
            job->pending = clock_ms();
        }
        if (!waited_enough(job)) {
            wait_for_upstream(job);
            return false;
        }
        metrics_add(METRIC_SYMCACHE_GAVE_UP, 1);
    }

    if (outcome == SOURCE_NOT_FOUND) {
        job->kept = job->kept || job->symcache.kept;
    } else {
        /* garbage of theirs is no proof of absence, either */
        job->unsure = true;
        job->unsure_server =
            job->unsure_server || job->source->type == SOURCE_SYMCACHE;
    }
    return true;
}

static void on_source_done(void *arg, enum source_outcome outcome)
{
    struct job *job = arg;

    job->lookup = NULL;
    jobs_host_freed(job->jobs);
    if (outcome == SOURCE_FOUND) {
        job->from = job->source->name;
        on_found(job);
    } else if (is_done(job, outcome)) {
        job->pending = 0;
        job->source = NULL;
        job_ask_source(job);
    }
}

static const struct source_callbacks source_callbacks = {on_attempt,
                                                         on_source_done};

/* NULL: the lookup could not begin; errno is set. */
static struct lookup *begin_lookup(struct job *job)
{
    const struct source_config *source = job->source;
    const struct order *order = &job->order;
    struct source_symcache *symcache = &job->symcache;
    struct workdir *workdir;
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];

    memset(symcache, 0, sizeof(*symcache));
    symcache->via = job->via != NULL ? job->via : "";
    symcache->has_exceeds =
        order->has_held &&
        symcache_version_cmp(&order->held, &source->version) < 0;
    symcache->exceeds = order->held;

    /* on the file system where the file will stay */
    workdir = jobs_workdir(job->jobs, source->type == SOURCE_SYMCACHE
                                          ? job->store->root
                                          : job->config->downloads);
    job->work = job_make_work(workdir);
    if (job->work == NULL) {
        return NULL;
    }

    errno = ENOMEM;
    snprintf(file, sizeof(file), "%s/%s", job->work, job->key.name);
    return source_lookup(job->jobs->sources, job->config, source, &job->key,
                         job->name, file, symcache, &source_callbacks, job);
}

bool job_may_ask(struct job *job)
{
    if (job->source == NULL) {
        job->source = order_next(&job->order);
    }
    return job->source == NULL || ahead_has(job) ||
           !source_busy(job->jobs->sources, job->config, job->source);
}

void job_ask_source(struct job *job)
{
    if (!job_may_ask(job)) {
        /* others may use the slot meanwhile */
        leave_sources(job);
        set_state(job, JOB_WAITS_SOURCE);
        return;
    }

    if (job->state != JOB_IN_SOURCE) {
        job->downloaded = true;
        job->step = clock_ms();
        set_state(job, JOB_IN_SOURCE);
    }

    if (job->source == NULL) {
        sources_exhausted(job);
        return;
    }

    job_remove_work(job);
    if (ahead_has(job)) {
        ahead_take(job, &source_callbacks);
    } else {
        job->lookup = begin_lookup(job);
    }
    if (job->lookup == NULL) {
        int errnum = errno;

        leave_sources(job);
        end_with_error(job, errnum, "the lookup cannot begin");
        return;
    }
    ahead_watch(job);
}

/* transcoder ------------------------------------------------------------ */

/* Somebody took the store away, or emptied .tmp? */
static bool has_work(const struct job *job)
{
    char out[WORKDIR_PATH_MAX + sizeof("/out")];

    snprintf(out, sizeof(out), "%s/out", job->work);
    return access(out, F_OK) == 0;
}

/* Of the PDB, or of something around it? */
static void judge_failure(struct job *job)
{
    struct stat st;

    if (stat(job_pdb_path(job), &st) != 0) {
        end_with_error(job, 0, "the PDB vanished under the transcoder");
    } else if (!has_work(job)) {
        end_with_error(job, 0, "its folder vanished under the transcoder");
    } else if (!job_has_room(job->store->root, st.st_size)) {
        room_want(store_device(job->store->root), (uint64_t)st.st_size);
        end_with_error(job, 0, "the disk of the store is full");
    } else if (job->forgotten) {
        job_discard_pdb(job);
        end_with_error(job, 0, "forgotten while the transcoder ran");
    } else {
        /* another PDB would be the same; a SymCache server may do better */
        job->malformed = true;
        job->order.no_pdb = true;
        job->source = order_next(&job->order);
        if (job->source == NULL) {
            end_malformed(job);
            return;
        }
        job_discard_pdb(job);
        job_remove_work(job);
        set_state(job, JOB_WAITS_SOURCE);
    }
}

static void on_published(void *arg, long long size, int errnum)
{
    char made[SYMCACHE_VERSION_TEXT_MAX + 1];
    struct job *job = arg;
    bool received = job->state == JOB_IN_SOURCE;

    job->publish = NULL;
    if (received) {
        leave_sources(job);
    }
    if (size < 0) {
        if (room_is_out(errnum)) {
            room_want(store_device(job->store->root), 0);
        }
        end_with_error(job, errnum, "the SymCache cannot be stored");
        return;
    }

    job->size = size;
    metrics_add(METRIC_PUBLISHED_BYTES, (uint64_t)job->size);
    if (symcache_version_cmp(&job->published, &job->transcoder->version) !=
        0) {
        symcache_version_print(made, &job->published);
        say(job,
            "%s made version %s, which is not the one that "
            "the configuration names",
            received ? job->from : "the transcoder", made);
        log_warn(0, "job %s: %s", job->id, job_text(job));
    }
    jobs_keep_transcoders(job->jobs, job->store);
    jobs_want_sidecar(job->jobs, job->store, &job->key, &job->published);
    end(job, JOB_PUBLISHED);
}

static void publish(struct job *job, const symcache_version_t *version,
                    const char *file)
{
    if (job->state != JOB_IN_SOURCE) {
        quality_copy(job_pdb_path(job), file);
    }
    job->published = *version;
    job->publish = publish_start(job->jobs->base, job->store->root, &job->key,
                                 version, file, on_published, job);
    if (job->publish == NULL) {
        on_published(job, -1, errno);
    }
}

static void on_transcoded(void *arg, const struct transcode_result *result)
{
    struct job *job = arg;
    char text[ABSENT_TEXT_MAX];

    job->transcode = NULL;
    job->transcode_ms = result->ms;
    metrics_add(METRIC_TRANSCODE_RUNS, 1);
    metrics_add(METRIC_TRANSCODE_MS, result->ms);

    if (result->ok) {
        publish(job, &result->version, result->file);
        return;
    }

    transcode_describe(result, text, sizeof(text));
    say(job, "%s", text);
    if (result->stopped) {
        end(job, JOB_STOPPED);
    } else if (result->system) {
        end(job, JOB_ERROR);
    } else {
        judge_failure(job);
    }
}

void job_run_transcoder(struct job *job)
{
    struct workdir *workdir = jobs_workdir(job->jobs, job->store->root);

    /* A cleaner may have taken it while the job waited; ask once more. */
    if (!store_download_find(job_pdb_path(job))) {
        if (job->downloaded) {
            end_with_error(job, 0, "the PDB vanished before it was used");
        } else {
            job->from = NULL;
            set_state(job, JOB_WAITS_SOURCE);
        }
        return;
    }

    job_wait_for_room(job);
    set_state(job, JOB_IN_TRANSCODER);
    job->work = job_make_work(workdir);
    if (job->work == NULL) {
        end_with_error(job, errno, "no work directory");
        return;
    }

    job->transcode = transcode_start(
        job->jobs->base, &job->config->limits, job->order.transcoder,
        &job->key, job_pdb_path(job), job->work, on_transcoded, job);
    if (job->transcode == NULL) {
        end_with_error(job, ENOMEM, "the transcoder cannot be started");
    }
}

void job_stop(struct job *job)
{
    if (job->lookup != NULL) {
        source_cancel(job->lookup);
        job->lookup = NULL;
    }
    if (job->transcode != NULL) {
        transcode_cancel(job->transcode);
        job->transcode = NULL;
    }
    if (job->publish != NULL) {
        publish_cancel(job->publish);
        job->publish = NULL;
    }
    if (job->again != NULL) {
        evtimer_del(job->again);
    }
    say(job, "the helper stops");
    end(job, JOB_STOPPED);
}
