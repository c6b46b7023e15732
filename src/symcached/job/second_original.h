/*
 * Copyright (C) the ngx_symcache authors
 *
 * The second original of a conversion.  For an ELF file that dwz has
 * compressed, it is the file into which dwz moved the shared parts: our
 * converter reports its build id.  For a PDB that is converted to Breakpad's
 * text, it is the image of the module, which has the unwind information: the
 * client sends its name and code id.  The job asks sources for it as for any
 * such file and runs the converter again.
 */
#ifndef SYMCACHED_JOB_SECOND_ORIGINAL_H
#define SYMCACHED_JOB_SECOND_ORIGINAL_H

#include "state.h"

/* Takes the job over from a run that ended well, if its output reports that
 * such a file is missing.  Returns false if there is nothing to wait for: the
 * result is then published. */
bool job_wants_second(struct job *job, const char *output);

/* Ends the wait, if there is one. */
void job_leave_second(struct job *job);

#endif
