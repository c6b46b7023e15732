/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a job gets a section of an ELF file.  Servers of debuginfod are asked
 * for the section.  From other sources the job gets the debug file, or else
 * the program, as if a client had asked for it, and a sandboxed child cuts the
 * section out.  So the whole file is among the downloads when a debugger wants
 * the rest of it; the job looks there before it asks any source.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/fd_close.h"
#include "scheduler_state.h"
#include "symcached/space/space.h"
#include "symcached/intake/intake.h"

/* Requests to a source, in this order.  A debug file has the name of each
 * section of its program, but not the bytes of all. */
enum part { PART_SECTION, PART_DEBUG_FILE, PART_PROGRAM, PARTS };

struct section {
    enum part part; /* that the source is asked for; or is being cut */
    const struct source_config *source; /* whose part that is; or NULL */
    unsigned looked; /* a bit for each file whose download was looked at */
    unsigned lacks;  /* a bit for each file that does not have the section */
    struct unpack *unpack;
    int in; /* the file, or -1 */
    int out;
    struct stat st; /* of the file when it was opened */
    time_t unchanged; /* since when it must be what its source had, or 0 */
    char *path;
};

bool section_new(struct job *job)
{
    struct section *section;

    if (job->key.kind != SYMCACHE_KIND_SECTION) {
        return true;
    }
    section = job->section = calloc(1, sizeof(*section));
    if (section == NULL) {
        return false;
    }
    section->in = section->out = -1;
    return true;
}

static void section_close_files(struct section *section)
{
    fd_close(section->in);
    fd_close(section->out);
    section->in = section->out = -1;
    section->unchanged = 0;
    free(section->path);
    section->path = NULL;
}

void section_free(struct job *job)
{
    if (job->section == NULL) {
        return;
    }
    if (job->section->unpack != NULL) {
        unpack_cancel(job->section->unpack);
    }
    section_close_files(job->section);
    free(job->section);
    job->section = NULL;
}

void section_rewind(struct job *job)
{
    if (job->section != NULL) {
        job->section->source = NULL;
        job->section->looked = job->section->lacks = 0;
    }
}

/* Both have no name: they are asked for by build id. */
static void file_key(symcache_key_t *key, const symcache_key_t *section,
                     enum part part)
{
    symcache_key_copy(key, section);
    key->kind = part == PART_PROGRAM ? SYMCACHE_KIND_EXECUTABLE
                                     : SYMCACHE_KIND_DEBUGINFO;
    key->name_len = sizeof(SYMCACHE_NAME_NONE) - 1;
    memcpy(key->name, SYMCACHE_NAME_NONE, sizeof(SYMCACHE_NAME_NONE));
}

void section_file_key(const struct job *job, symcache_key_t *key)
{
    file_key(key, &job->key, job->section->part);
}

bool section_wants_file(const struct job *job)
{
    return job->section != NULL && job->section->part != PART_SECTION;
}

/* requests to a source ---------------------------------------------------- */

static bool has_part(const struct job *job, enum part part)
{
    const struct source_config *source = job->source;
    symcache_key_t key;

    if (part == PART_SECTION) {
        return config_source_has_key(source, &job->key);
    }
    if (source->layout == LAYOUT_DEBUGINFOD && source->type->cuts_sections) {
        return false;
    }
    file_key(&key, &job->key, part);
    return !(job->section->lacks & 1u << part) &&
           config_source_has_key(source, &key);
}

/* Finds the first part, from this one on, that the source has places for. */
static bool find_part(struct job *job, enum part part)
{
    for (; part < PARTS; part++) {
        if (has_part(job, part)) {
            job->section->part = part;
            return true;
        }
    }
    job->section->part = PART_SECTION;
    return false;
}

bool section_next(struct job *job)
{
    return job->section != NULL && find_part(job, job->section->part + 1);
}

bool section_skips(struct job *job)
{
    struct section *section = job->section;

    if (section == NULL || section->source == job->source) {
        return false;
    }
    section->source = job->source;
    return !find_part(job, PART_SECTION) && section->lacks != 0;
}

void section_ask(const struct job *job, symcache_key_t *key, unsigned *formats)
{
    symcache_key_copy(key, &job->key);
    *formats = job->section != NULL ? 1u << FORMAT_ANY : job->order.formats;
    if (section_wants_file(job)) {
        section_file_key(job, key);
        *formats = 1u << FORMAT_ELF;
    }
}

/* cutting ------------------------------------------------------------------ */

/* A file that was left at its source may have changed meanwhile. */
static bool section_has_changed(const struct section *section)
{
    struct stat st;

    return fstat(section->in, &st) != 0 || st.st_size != section->st.st_size ||
           (section->unchanged != 0 && st.st_ctime >= section->unchanged) ||
           st.st_ctim.tv_sec != section->st.st_ctim.tv_sec ||
           st.st_ctim.tv_nsec != section->st.st_ctim.tv_nsec;
}

static void note_section(struct job *job, enum source_outcome outcome,
                         const char *detail, unsigned ms)
{
    struct lookup_attempt attempt = {.source = job->original.from,
                                     .place = job->section->path,
                                     .outcome = outcome,
                                     .detail = detail,
                                     .ms = ms};

    attempt_log_add(job->attempt_log, &attempt);
}

/* The file has no such section, or it cannot be told: the job goes on. */
static void section_go_on(struct job *job, enum source_outcome outcome)
{
    struct section *section = job->section;

    if (outcome == SOURCE_NOT_FOUND) { /* nor has it any other copy */
        section->lacks |= 1u << section->part;
    } else {
        job->findings |= FINDING_UNSURE;
    }
    section_close_files(section);
    job->original.from = NULL;
    if (section->source == NULL) {
        section->part = PART_SECTION; /* it was among the downloads */
    } else if (!section_next(job)) {
        job->source = NULL;
    }
    job_ask_source(job);
}

static void section_on_cut(void *arg, const struct unpack_result *result)
{
    const struct unpack_attempt *attempt =
        &result->attempts[result->nattempts - 1];
    enum source_outcome outcome = attempt->outcome;
    const char *detail = attempt->detail;
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];
    struct job *job = arg;

    job->section->unpack = NULL;
    if (section_has_changed(job->section)) {
        outcome = SOURCE_FAILED;
        detail = "the file changed meanwhile";
    }
    if (result->wanted > 0) {
        disk_space_want_for(job->section->out, result->wanted);
    }
    note_section(job, outcome, detail, result->ms);
    if (outcome != SOURCE_FOUND) {
        section_go_on(job, outcome);
        return;
    }
    section_close_files(job->section);
    job->section->part = PART_SECTION;
    snprintf(file, sizeof(file), "%s/section", job->work);
    job_take_target(job, file);
}

/* Opens what it is cut out of, and where it goes.  Returns false with errno. */
static bool section_open_files(struct job *job, const char *path)
{
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];
    struct section *section = job->section;

    if (job->work == NULL) {
        job->work = job_make_work(
            scheduler_workdir(job->scheduler, job->config->downloads));
    }
    if (job->work == NULL) {
        return false;
    }
    snprintf(file, sizeof(file), "%s/section", job->work);
    section->path = strdup(path);
    section->in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    section->out =
        open(file, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    return section->path != NULL && section->in >= 0 && section->out >= 0 &&
           fstat(section->in, &section->st) == 0;
}

/* The file at the path is known to have the build id. */
static void cut_section(struct job *job, const char *path)
{
    const struct limits_config *limits = &job->config->limits;
    struct section *section = job->section;
    struct unpack_request request = {.key = &job->key,
                                     .formats = 1u << FORMAT_ELF,
                                     .max = limits->download_size,
                                     .seconds = limits->download_time};

    if (section_open_files(job, path)) {
        request.in = section->in;
        request.out = section->out;
        request.cache = &job->config->cache;
        request.keep = disk_space_kept(section->out, request.cache);
        section->unpack =
            unpack_start(job->scheduler->base, &request, section_on_cut, job);
    }
    if (section->unpack == NULL) {
        int errnum = errno;

        job_leave_sources(job);
        job_fail(job, errnum, "the section cannot be cut out");
    }
}

void section_cut_file(struct job *job, const char *file)
{
    struct stat st;

    if (lstat(file, &st) == 0 && S_ISLNK(st.st_mode)) {
        /* it is opened by its name once more */
        job->section->unchanged = job->original.unchanged;
        cut_section(job, file);
        return;
    }
    provenance_note(file, job->original.from, SYMCACHE_EXTENT_FULL, 0);
    if (job_take_file(job, file)) {
        cut_section(job, job_pdb_path(job));
    }
}

/* downloads ---------------------------------------------------------------- */

/* Finds the next file that was not looked at and is there, before any source
 * is asked. */
static enum part find_near(const struct job *job)
{
    symcache_key_t key;
    char path[PATH_MAX];
    enum part part;

    if (job->section == NULL || job->section->source != NULL) {
        return PARTS;
    }
    for (part = PART_DEBUG_FILE; part < PARTS; part++) {
        file_key(&key, &job->key, part);
        store_download_path(path, job->config->downloads, job->store->name,
                            &key);
        if (!(job->section->looked & 1u << part) &&
            store_download_find(path)) {
            break;
        }
    }
    return part;
}

bool section_is_near(const struct job *job)
{
    return find_near(job) != PARTS;
}

bool section_cut_near(struct job *job)
{
    enum part part = find_near(job);

    if (part == PARTS) {
        return false;
    }
    job->section->looked |= 1u << part;
    job->section->part = part;
    job->original.from = JOB_ORIGINAL_DOWNLOADS;
    cut_section(job, job_pdb_path(job));
    return true;
}
