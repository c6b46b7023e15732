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
 * Prints a text in which frames have what they come from, or as JSON one
 * object for each frame; other lines, and frames that no map is there for,
 * stay as they are.
 *
 * If the settings name a server, it is asked (POST /symbolicate-js) for files
 * of a release and dist (NULL: none is said), and if wanted also what it asked
 * for each file.  Otherwise scripts and maps are looked for in a folder (NULL:
 * there is none), by as much of their paths as there is; or else where the
 * trace says, if that is a file on this machine.  Returns an exit code: that
 * nothing was found only if a folder or a server is named.
 */
int script_trace_show(const struct settings *settings,
                      const struct script_options *options, const char *text,
                      size_t size);

#endif
