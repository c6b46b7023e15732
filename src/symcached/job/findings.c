/*
 * Copyright (C) the ngx_symcache authors
 */
#include "findings.h"

/* After these, sources or transcoders may answer otherwise the next time. */
#define FINDINGS_OPEN                                                         \
    (FINDING_FAILED | FINDING_UNSURE | FINDING_OUTDATED | FINDING_DOUBTED |   \
     FINDING_FORGOTTEN)

enum job_outcome findings_outcome(unsigned findings, enum job_purpose purpose)
{
    if (findings & FINDING_STOPPED) {
        return JOB_STOPPED;
    }
    if (findings & FINDING_PUBLISHED) {
        return JOB_PUBLISHED;
    }
    if (findings & FINDING_FAILED) {
        return JOB_ERROR;
    }
    if (findings & FINDING_NOT_BETTER) {
        return JOB_UNCHANGED;
    }
    if ((findings & FINDINGS_OPEN) || !(findings & FINDING_EXHAUSTED)) {
        return JOB_ERROR;
    }
    if (findings & FINDING_LOOP) {
        return JOB_LOOP;
    }
    if ((findings & FINDING_NOT_NEWER) || purpose_has_file(purpose)) {
        return JOB_UNCHANGED;
    }
    if (findings & (FINDING_MALFORMED | FINDING_UNREADABLE)) {
        return JOB_MALFORMED;
    }
    return findings & FINDING_WRONG_FORMAT ? JOB_WRONG_FORMAT : JOB_NOTFOUND;
}
