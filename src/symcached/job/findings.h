/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a job has found out, and the outcome of it.  A job only collects
 * findings; findings_outcome() is the only place where they become an outcome,
 * and t/unit/findings.c tests its table.
 *
 * Knows nothing else of jobs.
 */
#pragma once

#include <stdbool.h>

/* One bit each; a set of them is an unsigned. */
enum finding {
    /* from its sources */
    FINDING_EXHAUSTED = 1 << 0,  /* all of them were asked */
    FINDING_UNSURE = 1 << 1,     /* one could not tell, or sent garbage */
    FINDING_NOT_NEWER = 1 << 2,  /* one has nothing newer than what we have */
    FINDING_NOT_BETTER = 1 << 3, /* one's PDB has no more in it than ours */

    FINDING_WRONG_FORMAT = 1 << 11, /* one has it, of a format of which this
                                       is not made */
    FINDING_UNREADABLE = 1 << 12,   /* one has it, in a form that nothing here
                                       can read */

    FINDING_LOOP = 1 << 13, /* one has left out servers that wait for this */

    /* from its transcoder */
    FINDING_MALFORMED = 1 << 4, /* it failed on what a source had */
    FINDING_DOUBTED = 1 << 5,   /* ... and is not believed any more */

    /* from what happened meanwhile */
    FINDING_OUTDATED = 1 << 6,  /* there is another configuration now */
    FINDING_FORGOTTEN = 1 << 7, /* an operator had it forgotten meanwhile */

    /* its end */
    FINDING_PUBLISHED = 1 << 8, /* the SymCache is on disk */
    FINDING_FAILED = 1 << 9,    /* a failure that says nothing of the key */
    FINDING_STOPPED = 1 << 10   /* its result would be of no use */
};

/* What a job is for. */
enum job_purpose {
    JOB_FOR_LOOKUP, /* the requested file is not on disk */
    JOB_FOR_NEWER,  /* an older version is served meanwhile */
    JOB_FOR_BETTER, /* a better PDB; its version is on disk from a worse one */
    JOB_FOR_DEBUG_FILE, /* the same, on disk from a program with symbols only */
    JOB_FOR_REBUILD /* its version is on disk, from a former builder */
};

static inline bool purpose_is_better(enum job_purpose purpose)
{
    return purpose == JOB_FOR_BETTER || purpose == JOB_FOR_DEBUG_FILE;
}

/* Is the version that the job makes on disk already, and stays without it? */
static inline bool purpose_has_file(enum job_purpose purpose)
{
    return purpose_is_better(purpose) || purpose == JOB_FOR_REBUILD;
}

enum job_outcome {
    JOB_PUBLISHED,
    JOB_NOTFOUND,  /* every source said so: negative entry */
    JOB_WRONG_FORMAT, /* of it, another kind is made: negative entry */
    JOB_MALFORMED, /* it cannot be read: negative entry */
    JOB_ERROR,     /* could not be told: remembered for a short time */
    JOB_LOOP,      /* absent, but for the servers that wait for it: remembered
                      for their questions */
    JOB_UNCHANGED, /* nothing newer, or better, than what is on disk */
    JOB_STOPPED    /* says nothing about the key */
};

/*
 * JOB_NOTFOUND, which is remembered for long, is the outcome only if no finding
 * casts doubt on it.
 */
enum job_outcome findings_outcome(unsigned findings, enum job_purpose purpose);
