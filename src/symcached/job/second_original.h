/*
 * Copyright (C) the ngx_symcache authors
 *
 * The second original of what is made.  Of ELF files that dwz has compressed,
 * the file in which it has put what several share: our converter tells its
 * build id.  Of a PDB of which Breakpad's text is made, the image of its
 * module, with the unwind information: who asks tells its name and code id.
 * Sources are asked for it as for any such file, and the converter runs again.
 */
#ifndef SYMCACHED_JOB_SECOND_ORIGINAL_H
#define SYMCACHED_JOB_SECOND_ORIGINAL_H

#include "state.h"

/* Takes the job over from a run that ended well, if that has said by its output
 * that such a file is missing.  Returns false if there is nothing to wait for:
 * what was made is published. */
bool job_wants_second(struct job *job, const char *output);

/* Ends the wait, if there is one. */
void job_leave_second(struct job *job);

#endif
