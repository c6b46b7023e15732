/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a job converts a PDB before its id was checked, see source/lookup.h.  If
 * our converter confirms that the PDB is the one of the key, the job continues
 * as if the source had checked it.  Any other result of the run proves nothing
 * about the PDB, its source or the transcoder: the source then checks the PDB
 * in a process, and the transcoder runs again on the result.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "scheduler_state.h"

/* Does the job's converter report whether it is the right PDB? */
static bool can_verify(const struct job *job)
{
    const struct transcoder_config *transcoder =
        job->order.transcoders[FORMAT_PDB];

    return transcoder != NULL && job_may_speak(job, transcoder) &&
           !section_wants_file(job) && job_may_leave_original(job);
}

static int make_link(const struct job *job, const char *target,
                     const char *link)
{
    return mkdir(job->work, 0755) == 0 || errno == EEXIST
               ? symlink(target, link)
               : -1;
}

void job_take_unverified(void *arg, const char *here)
{
    struct job *job = arg;
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];
    bool stays = here != NULL &&
                 transcode_takes_path(job->order.transcoders[FORMAT_PDB],
                                      here, job->key.name);

    snprintf(file, sizeof(file), "%s/%s", job->work, job->key.name);
    if (!can_verify(job) ||
        (here != NULL && !stays && make_link(job, here, file) != 0)) {
        lookup_check_unverified(job->lookup);
        return;
    }
    job->original.from = job->source->name;
    job->original.format = FORMAT_PDB;
    job->original.slot = SYMCACHE_KIND_DEBUGINFO;
    job->original.is_unverified = true;
    if (here == NULL) {
        job->original.unchanged = 0; /* it was received */
    }
    job_leave_at_source(job, stays ? here : file);
}

bool job_is_unverified(const struct job *job)
{
    return job->original.is_unverified;
}

void job_take_verified(struct job *job, enum converter_check proof)
{
    struct lookup *lookup = job->lookup;
    bool links = proof == PROOF_FULL_LINKS || proof == PROOF_PUBLICS_LINKS;

    job->lookup = NULL;
    job->original.is_unverified = false;
    lookup_verified(lookup,
                    proof == PROOF_PUBLICS || proof == PROOF_PUBLICS_LINKS,
                    links ? SYMCACHE_HAS_LINKS : 0);
}

void job_leave_unverified(struct job *job)
{
    job_leaves_run(job);
    job_remove_work(job);
    job->work = job->original.folder;
    free(job->original.link);
    job->original.folder = job->original.link = NULL;
    job->original.from = NULL;
    job_set_state(job, JOB_WAITS_SOURCE);
}

void job_hurry_original(struct job *job)
{
    if (!job_is_unverified(job) || job->original.link == NULL ||
        job->original.unchanged != 0) {
        return;
    }
    if (job->run.transcode != NULL) {
        transcode_cancel(job->run.transcode);
        job->run.transcode = NULL;
    }
    job_leave_unverified(job);
}

void job_resume_source(struct job *job)
{
    job->original.is_unverified = false;
    job->original.unchanged = time(NULL);
    job->step = clock_ms();
    job_set_state(job, JOB_IN_SOURCE);
    lookup_check_unverified(job->lookup);
}
