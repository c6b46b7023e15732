/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate, with a stack trace of JavaScript: its lines get the
 * functions, files and lines of the originals, from source maps on this
 * machine.
 */
#ifndef SYMCACHECTL_FILES_SCRIPT_TRACE_H
#define SYMCACHECTL_FILES_SCRIPT_TRACE_H

#include <stddef.h>

#include "symcachectl/settings.h"

struct script_options {
    const char *maps; /* a folder */
    const char *release;
    const char *dist;
    int why;
};

/*
 * Prints a text with original places in its frames, or, as JSON, one object
 * for each frame; other lines, and frames without a map, stay as they are.
 *
 * If the settings name a server, it is asked (POST /symbolicate-js) for the
 * files of a release and dist (NULL: none is given), and if wanted also for
 * the attempts for each file.  Otherwise scripts and maps are looked for in a
 * folder (NULL: there is none), by as many parts of their paths as match; or
 * else at the path in the trace, if that is a file on this machine.  Returns
 * an exit code; "nothing found" is reported only if a folder or a server is
 * named.
 */
int script_trace_show(const struct settings *settings,
                      const struct script_options *options, const char *text,
                      size_t size);

#endif
