/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a job asks its sources: one after another, in the order of
 * source_order.h, until one has what it looks for.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>
#include "base/async_unlink.h"
#include "base/log.h"
#include "decision.h"
#include "prefetch.h"
#include "symcached/intake/intake.h"
#include "scheduler_state.h"
#include "same_module_job.h"

struct lookup_ids job_source_ids(const struct job *job, unsigned first)
{
    unsigned own = lookup_first_ids(&job->key);

    return (struct lookup_ids){.first = first,
                               .programs = job->purpose != JOB_FOR_DEBUG_FILE,
                               .among = job->reach == JOB_ASKS_ALL    ? ~0u
                                        : job->reach == JOB_ASKS_REST ? ~own
                                                                      : own};
}

/* The longest Retry-After of a source that is obeyed, in seconds. */
#define RETRY_AFTER_MAX 3600

/* The longest pause before a SymCache server is asked again, in seconds. */
#define AGAIN_MAX 60

static void search_on_attempt(void *arg, const struct lookup_attempt *attempt)
{
    struct job *job = arg;

    attempt_log_add(job->attempt_log, attempt);
    source_stats_add(job->scheduler->source_stats, attempt);
    metrics_add(METRIC_DOWNLOAD_BYTES, attempt->bytes);
    job->original.bytes += attempt->bytes;
    job->original.extent = attempt->extent;
    job->original.features = attempt->features;
    job->original.id_at = attempt->id_at;
    job->is_beyond |= !lookup_id_is_among(&job->key, attempt->id_at,
                                          lookup_first_ids(&job->key));
    job->has_answers |= attempt->outcome != SOURCE_NOT_FOUND &&
                        !lookup_attempt_is_unasked(attempt);
    if (attempt->outcome == SOURCE_PENDING) {
        job->again_after = attempt->retry_after;
    } else if (attempt->retry_after > job->retry_after) {
        job->retry_after = attempt->retry_after < RETRY_AFTER_MAX
                               ? attempt->retry_after
                               : RETRY_AFTER_MAX;
    }
}

void job_leave_sources(struct job *job)
{
    unsigned ms = clock_since(job->step);

    prefetch_drop(job);
    job_remove_work(job);
    job->download_ms += ms;
    metrics_observe(METRICS_DOWNLOAD, ms);
}

void job_drop_kept(struct job *job)
{
    if (job->kept_work != NULL) {
        async_unlink_add(job->kept_work);
        free(job->kept_work);
        job->kept_work = NULL;
    }
}

/* Must the file on disk stay, because its PDB has more in it? */
static bool search_is_worse(const struct job *job)
{
    char path[PATH_MAX];

    if (!purpose_has_file(job->purpose)) {
        return false;
    }
    store_path(path, job->store->root, &job->key,
               &job->target.transcoder->version, SYMCACHE_FILE_PLAIN);
    return job->purpose == JOB_FOR_REBUILD
               ? provenance_is_fuller(path, job->original.extent)
               : provenance_keeps(path, job->original.from,
                                  job->original.extent);
}

/* What is to be known of a file before it is among the downloads.  Returns 0,
 * or -1 with errno. */
static int search_note_file(const struct job *job)
{
    char root[PATH_MAX];
    symcache_key_t key;

    job_original_key(job, &key);
    if (key.kind != SYMCACHE_KIND_SECTION) {
        return 0;
    }
    store_download_root(root, job->config->downloads, job->store->name);
    return section_names_add(root, &key);
}

static bool search_is_link(const char *file)
{
    struct stat st;

    return lstat(file, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Keeps the compressed form next to a PDB that was sent compressed, or removes
 * a former one. */
static void search_take_compressed(const struct job *job, const char *file)
{
    char from[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 16], to[PATH_MAX];
    symcache_key_t key;

    job_original_key(job, &key);
    if (key.kind != SYMCACHE_KIND_DEBUGINFO ||
        key.id_type != SYMCACHE_ID_DEBUG) {
        return;
    }
    key.kind = SYMCACHE_KIND_MSFZ;
    snprintf(from, sizeof(from), "%s%s", file,
             symcache_kind(SYMCACHE_KIND_MSFZ)->end);
    store_download_path(to, job->config->downloads, job->store->name, &key);
    if (access(from, F_OK) != 0) {
        (void)unlink(to);
    } else if (chmod(from, 0644) != 0 || store_rename(from, to) != 0) {
        log_warn(errno, "job %s: what was sent cannot be kept compressed",
                 job_id(job));
    }
}

bool job_take_file(struct job *job, const char *file)
{
    if (!search_is_link(file)) {
        /* nginx may serve it, whatever the umask is */
        (void)chmod(file, 0644);
    }
    job_discard_pdb(job);
    if (search_note_file(job) != 0 ||
        store_rename(file, job_pdb_path(job)) != 0) {
        int errnum = errno;

        job_leave_sources(job);
        job_fail(job, errnum, "the original cannot be stored");
        return false;
    }
    search_take_compressed(job, file);
    return true;
}

/* No source has debug information that can be read: what has symbols at least
 * is converted. */
static void search_use_kept(struct job *job)
{
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];
    uint64_t bytes = job->original.bytes;

    snprintf(file, sizeof(file), "%s/%s", job->kept_work, job->key.name);
    job->original = job->kept;
    job->original.bytes = bytes;
    if (!job_take_file(job, file)) {
        return;
    }
    job_drop_kept(job);
    job_leave_sources(job);
    job_set_state(job, JOB_WAITS_TRANSCODER);
}

/* Did another machine, which tells nobody, take an upload with an id of the
 * key since the job looked into the folder of both? */
static bool search_uploads_changed(struct job *job)
{
    int64_t before = job->uploads_changed;

    job->uploads_changed = decision_uploads_changed(job->store, job->config,
                                                    &job->key, job_hints(job));
    return job->uploads_changed > before;
}

/* What the job would end with now. */
static enum job_outcome search_outcome_so_far(const struct job *job)
{
    return findings_outcome(job->findings | FINDING_EXHAUSTED, job->purpose);
}

/* Would clients be told 404? */
static bool search_is_final(const struct job *job)
{
    enum job_outcome outcome = search_outcome_so_far(job);

    return outcome == JOB_NOTFOUND || outcome == JOB_WRONG_FORMAT ||
           outcome == JOB_MALFORMED;
}

/* Is the file absent but for servers of which some are not to be left out any
 * more? */
static bool search_has_old_loop(const struct job *job)
{
    return job->loop_is_old && job->kept_work == NULL &&
           search_outcome_so_far(job) == JOB_LOOP;
}

static void search_is_exhausted(struct job *job)
{
    if ((job->findings & FINDING_FORGOTTEN) ||
        (search_is_final(job) && search_uploads_changed(job)) ||
        search_has_old_loop(job)) {
        /* there may be something new, as an operator may have said: ask all
         * again */
        job_drop_kept(job);
        job->findings = 0;
        job->loop_is_old = false;
        job->reach = job->reach == JOB_ASKED_OWN   ? JOB_ASKS_OWN
                     : job->reach == JOB_ASKS_REST ? JOB_ASKS_ALL
                                                   : job->reach;
        source_order_rewind(&job->order);
        section_rewind(job);
        job_ask_source(job);
        return;
    }
    if (job->kept_work != NULL) {
        search_use_kept(job);
        return;
    }
    if (same_module_job_goes_on(job)) {
        return;
    }

    job_leave_sources(job);
    job_end(job, FINDING_EXHAUSTED);
}

/* For modules other than PDBs, one source often has the program, and another
 * one its debug file. */
static bool search_may_be_bettered(const struct job *job)
{
    return job->original.extent != SYMCACHE_EXTENT_FULL &&
           job->original.format != FORMAT_PDB;
}

/* Keeps the first of these, unless such a one or a better one is on disk, and
 * asks the next source. */
static void search_keep_original(struct job *job, bool is_wanted)
{
    if (job->kept_work == NULL && is_wanted &&
        job->purpose != JOB_FOR_DEBUG_FILE) {
        job->kept = job->original;
        job->kept_work = job->work;
        job->work = NULL;
    }
    source_order_absent(&job->order, job->source);
    job->source = NULL;
    job_ask_source(job);
}

void job_leave_at_source(struct job *job, const char *file)
{
    job->original.link = strdup(file);
    if (job->original.link == NULL) {
        job_leave_sources(job);
        job_fail(job, ENOMEM, "the original cannot be used");
        return;
    }
    (void)stat(file, &job->original.left); /* one that is gone has changed */
    job->original.folder = job->work;
    job->work = NULL;
    job_leave_sources(job);
    job_set_state(job, JOB_WAITS_TRANSCODER);
}

void job_take_target(struct job *job, const char *file)
{
    if (job_take_file(job, file)) {
        job_leave_sources(job);
        job->target.published = order_original.version;
        job_end(job, FINDING_PUBLISHED);
    }
}

/*
 * The original lies in a folder: it becomes a download that has the same blocks
 * on the disk, or else a symbolic link to it, if nginx's workers can follow
 * that.  Otherwise the same source is asked for a copy.
 */
static void search_take_link(struct job *job, const char *file)
{
    char clone[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 16];

    snprintf(clone, sizeof(clone), "%s.clone", file);
    if (store_clone(file, clone) == 0) {
        provenance_note(clone, job->original.from, job->original.extent,
                        job->original.features);
        job_take_target(job, clone);
    } else if (in_place_is_public(file)) {
        job_take_target(job, file);
    } else {
        job->original.copies = true;
        job_ask_source(job);
    }
}

/*
 * Sets the format of what was found.  A file that lies in a source's folder may
 * be another one than that which was looked at: of a format of which the target
 * is not made.  Returns false if the job has ended.
 */
static bool search_is_usable(struct job *job, const char *file)
{
    bool is_read = job_format_of(job, file, &job->original.format);
    int errnum = is_read ? 0 : errno;

    if (is_read && (job->target.transcoder == &order_original ||
                    config_source_is_ready_made(job->source, &job->key) ||
                    job_transcoder(job) != NULL)) {
        return true;
    }
    job_leave_sources(job);
    job_fail(job, errnum,
             is_read ? "the original has become a file of another format"
                     : "the original cannot be read");
    return false;
}

static void search_on_found(struct job *job)
{
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];
    bool worse;

    snprintf(file, sizeof(file), "%s/%s", job->work, job->key.name);
    if (section_wants_file(job)) {
        section_cut_file(job, file);
        return;
    }
    if (!search_is_usable(job, file)) {
        return;
    }
    job->original.slot =
        lookup_id_slot(&job->key, job->original.id_at, job->original.format);
    worse = search_is_worse(job);
    if (worse && job->purpose == JOB_FOR_REBUILD &&
        search_may_be_bettered(job)) {
        search_keep_original(job, !worse);
        return;
    }
    if (worse) {
        job_leave_sources(job);
        job_say(job, "the original has public symbols only");
        job_end(job, FINDING_NOT_BETTER);
        return;
    }

    if (search_is_link(file) && job->target.transcoder == &order_original) {
        search_take_link(job, file);
        return;
    }
    if (search_is_link(file)) {
        job_leave_at_source(job, file);
        return;
    }
    provenance_note(file, job->original.from, job->original.extent,
                    job->original.features);
    job_note_places(job, file);
    if (config_source_is_ready_made(job->source, &job->key)) {
        job_publish(job, &job->symcache.version, file);
        return;
    }
    if (job->target.transcoder == &order_original) {
        job_take_target(job, file);
        return;
    }

    if (search_may_be_bettered(job)) {
        search_keep_original(job, true);
        return;
    }
    if (!job_take_file(job, file)) {
        return;
    }
    job_leave_sources(job);
    job_answer_original(job);
    job_set_state(job, JOB_WAITS_TRANSCODER);
}

/* Has the server had the time for a download and a conversion of its own? */
static bool search_waited_enough(const struct job *job)
{
    const struct limits_config *limits = &job->config->limits;
    uint64_t seconds =
        (uint64_t)limits->download_time + limits->transcode_time;

    return clock_since(job->pending) >= seconds * 1000;
}

static void search_on_again(evutil_socket_t fd, short events, void *arg)
{
    struct job *job = arg;

    /* and not for what another job finds */
    if (job->state == JOB_WAITS_UPSTREAM && job->pending != 0) {
        job_set_state(job, JOB_WAITS_SOURCE);
    } else if (job->via_is_new && job->state == JOB_IN_SOURCE &&
               job->lookup != NULL && !lookup_receives(job->lookup) &&
               config_source_is_ready_made(job->source, &job->key)) {
        lookup_cancel(job->lookup);
        job->lookup = NULL;
        job_ask_source(job);
    }
}

/* Returns false when out of memory. */
static bool search_ask_again_in(struct job *job, long seconds)
{
    struct timeval delay = {.tv_sec = seconds};

    if (job->again == NULL) {
        job->again = evtimer_new(job->scheduler->base, search_on_again, job);
    }
    return job->again != NULL && evtimer_add(job->again, &delay) == 0;
}

void job_tell_sources(struct job *job)
{
    job->via_is_new = true;
    job->loop_is_old |= (job->findings & FINDING_LOOP) != 0;
    (void)search_ask_again_in(job, 0);
}

/* Leaves the slot to others until it is time to ask the same source again. */
static void search_wait_for_upstream(struct job *job)
{
    long seconds = job->again_after;

    if (seconds < 1) {
        seconds = 1;
    } else if (seconds > AGAIN_MAX) {
        seconds = AGAIN_MAX;
    }
    job_leave_sources(job);
    if (!search_ask_again_in(job, job->via_is_new ? 0 : seconds)) {
        job_fail(job, ENOMEM, "the source cannot be asked again");
        return;
    }
    job_set_state(job, JOB_WAITS_UPSTREAM);
}

/* Returns false if the source is asked again later, and the job waits. */
static bool search_is_done(struct job *job, enum source_outcome outcome)
{
    if (outcome == SOURCE_PENDING) {
        if (job->pending == 0) {
            job->pending = clock_ms();
        }
        if (!search_waited_enough(job)) {
            search_wait_for_upstream(job);
            return false;
        }
        metrics_add(METRIC_SYMCACHE_GAVE_UP, 1);
    }

    if (outcome == SOURCE_WRONG_FORMAT) {
        job->findings |= FINDING_WRONG_FORMAT;
    } else if (outcome == SOURCE_MALFORMED) {
        job->findings |= FINDING_UNREADABLE;
    } else if (outcome != SOURCE_NOT_FOUND) {
        job->order.is_unsure |= outcome != SOURCE_UNUSABLE;
        /* even an unusable answer does not prove that the file is absent */
        job->findings |= FINDING_UNSURE;
    } else if (job->symcache.is_loop) {
        job->findings |= FINDING_LOOP;
        job->loop_is_old |= job->via_is_new;
    } else if (job->symcache.not_newer) {
        job->findings |= FINDING_NOT_NEWER;
    } else {
        source_order_absent(&job->order, job->source);
    }
    return true;
}

static void search_on_left_out(void *arg)
{
    struct job *job = arg;

    source_order_left_out(&job->order, job->source);
}

static void search_on_done(void *arg, enum source_outcome outcome)
{
    struct job *job = arg;

    job->lookup = NULL;
    if (outcome == SOURCE_FOUND) {
        job->pending = 0;
        job->original.from = job->source->name;
        search_on_found(job);
    } else if (search_is_done(job, outcome)) {
        job->pending = 0;
        if (!section_next(job)) {
            job->source = NULL;
        }
        job_ask_source(job);
    }
}

bool job_is_decided(const struct job *job)
{
    return job->state == JOB_IN_SOURCE
               ? job->lookup != NULL && lookup_receives(job->lookup)
               : job->state >= JOB_WAITS_TRANSCODER;
}

void job_pass_over(struct job *job)
{
    struct lookup_attempt attempt = {
        .source = job->source->name,
        .place = lookup_place_asked(job->lookup),
        .outcome = SOURCE_FAILED,
        .detail = "no first byte yet, and the next source has it",
        .ms = clock_since(job->step),
    };

    search_on_attempt(job, &attempt);
    lookup_cancel(job->lookup);
    search_on_done(job, SOURCE_FAILED);
}

static const struct lookup_callbacks search_callbacks = {
    search_on_attempt, search_on_left_out, search_on_done,
    job_take_unverified};

struct lookup_ids job_ask_ids(struct job *job,
                              const struct source_config *source)
{
    struct lookup_ids ids =
        job_source_ids(job, job->source == source ? job->id_at : 0);

    if (job->section == NULL && ids.first == 0) {
        ids.variants = source_order_variants(
            &job->order, source,
            source_variants(job->scheduler->sources, source));
    }
    return ids;
}

/* May a file that debuggers ask for be used where it lies?  A source file or a
 * section has nothing in it that tells what it is. */
static bool search_may_link_original(const struct job *job)
{
    return job->target.transcoder == &order_original && !job->original.copies &&
           job->key.kind != SYMCACHE_KIND_SOURCE &&
           job->key.kind != SYMCACHE_KIND_FILE &&
           job->key.kind != SYMCACHE_KIND_SECTION;
}

/* Returns NULL with errno if the lookup could not begin. */
static struct lookup *search_begin_lookup(struct job *job)
{
    const struct source_config *source = job->source;
    const symcache_version_t *version =
        config_source_ready_made(source, &job->key);
    const struct source_order *order = &job->order;
    struct lookup_symcache *symcache = &job->symcache;
    struct workdir *workdir;
    symcache_key_t key;
    unsigned formats;
    bool may_stay;
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];

    memset(symcache, 0, sizeof(*symcache));
    symcache->via = job_via(job);
    job->via_is_new = false;
    symcache->store = job->store->name;
    symcache->has_exceeds =
        order->has_on_disk && version != NULL &&
        symcache_version_cmp(&order->on_disk, version) < 0;
    symcache->exceeds = order->on_disk;

    section_ask(job, &key, &formats);
    may_stay = !source->copies && job_may_leave_original(job);
    job->original.unchanged =
        may_stay || (!source->copies && (section_wants_file(job) ||
                                         search_may_link_original(job)))
            ? time(NULL)
            : 0;

    /* on the file system where the file will stay, so that it can be renamed */
    workdir = scheduler_workdir(
        job->scheduler, config_source_is_ready_made(source, &job->key)
                            ? job->store->root
                            : job->config->downloads);
    job->work = may_stay ? job_name_work(workdir) : job_make_work(workdir);
    if (job->work == NULL) {
        return NULL;
    }

    errno = ENOMEM;
    snprintf(file, sizeof(file), "%s/%s", job->work, job->key.name);
    return lookup_start(job->scheduler->sources, job->config, source, &key,
                        section_wants_file(job) ? key.name : job->name,
                        job_hints(job), formats, job_ask_ids(job, source),
                        job->original.unchanged, file, symcache,
                        &search_callbacks, job);
}

bool job_may_ask(struct job *job)
{
    if (job->source == NULL) {
        job->source = source_order_next(&job->order);
    }
    if (job->source == NULL) {
        return !same_module_job_awaits(job);
    }
    return prefetch_has(job) || section_is_near(job) ||
           !source_busy(job->scheduler->sources, job->config, job->source);
}

/* What no source has ever had is asked for after jobs with a better chance:
 * returns true if the job gives its slot back, and waits for another. */
static bool search_yields_to_likelier(struct job *job)
{
    bool was_unlikely = job->is_unlikely;

    job->is_unlikely = job->order.is_last && job->source != NULL;
    if (!job->is_unlikely || was_unlikely || job->state != JOB_IN_SOURCE) {
        return false;
    }
    job_leave_sources(job);
    job_set_state(job, JOB_WAITS_SOURCE);
    return true;
}

void job_ask_source(struct job *job)
{
    if (job_is_unverified(job)) {
        job_resume_source(job);
        return;
    }
    if (!job_may_ask(job)) {
        /* others may use the slot meanwhile */
        job_leave_sources(job);
        job_set_state(job, JOB_WAITS_SOURCE);
        return;
    }

    if (search_yields_to_likelier(job)) {
        return;
    }

    if (job->state != JOB_IN_SOURCE) {
        job->step = clock_ms();
        job_set_state(job, JOB_IN_SOURCE);
    }

    if (section_cut_near(job)) {
        return;
    }
    if (job->source == NULL) {
        search_is_exhausted(job);
        return;
    }
    if (section_skips(job)) {
        job->source = NULL;
        job_ask_source(job);
        return;
    }

    job_remove_work(job);
    if (prefetch_has(job)) {
        prefetch_take(job, &search_callbacks);
    } else {
        job->lookup = search_begin_lookup(job);
    }
    job->id_at = 0;
    if (job->lookup == NULL) {
        int errnum = errno;
        char what[PATH_MAX + 64];

        snprintf(what, sizeof(what), "the lookup cannot begin in \"%s\"",
                 job->config->downloads);
        job_leave_sources(job);
        job_fail(job, errnum, what);
        return;
    }
    prefetch_watch(job);
}
