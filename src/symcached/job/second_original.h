/*
 * Copyright (C) the ngx_symcache authors
 *
 * The other originals of a conversion, which our converter reports as missing.
 * For an ELF file that dwz has compressed, it is the file into which dwz moved
 * the shared parts: its build id is reported.  For a PDB that is converted to
 * Breakpad's text, it is the image of the module, which has the unwind
 * information: the client sends its name and code id.  For a dSYM with hidden
 * names it is its UUID map, and then the BCSymbolMap of which that has the
 * UUID; for code that Unity's il2cpp has made, its line mapping; for split
 * DWARF, the package of it.  The job asks
 * sources for these as for any such file and, if there is one, runs the
 * converter again.
 */
#pragma once

#include "job_state.h"

/* Takes the job over from a run that ended well, if its output reports that
 * such a file is missing.  Returns false if there is nothing to wait for: the
 * result is then to be published. */
bool job_wants_second(struct job *job, const struct transcode_result *result);

/* Ends the wait, if there is one. */
void job_leave_second(struct job *job);
