/*
 * Copyright (C) the ngx_symcache authors
 *
 * The second original of ELF files that dwz has compressed: the file in which
 * it has put what several share.  Our converter tells its build id, sources are
 * asked for that as for any debug information, and the converter runs again.
 */
#ifndef SYMCACHED_JOB_ALTLINK_H
#define SYMCACHED_JOB_ALTLINK_H

#include "state.h"

/* Takes the job over from a run that ended well, if that has said by its output
 * that such a file is missing.  Returns false if there is nothing to wait for:
 * what was made is published. */
bool job_wants_altlink(struct job *job, const char *output);

/* Ends the wait, if there is one. */
void job_leave_altlink(struct job *job);

#endif
