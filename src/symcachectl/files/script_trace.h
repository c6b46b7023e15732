/*
 * Copyright (C) the ngx_symcache authors
 *
 * symcachectl symbolicate, with a stack trace of JavaScript: its lines get the
 * functions, files and lines of the originals, from source maps on this
 * machine.
 */
#ifndef SYMCACHECTL_FILES_SCRIPT_TRACE_H
#define SYMCACHECTL_FILES_SCRIPT_TRACE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Prints a text in which frames have what they come from, or for is_json one
 * object for each frame; other lines, and frames that no map is there for,
 * stay as they are.
 *
 * Scripts and maps are looked for in maps, a folder (NULL: there is none), by
 * as much of their paths as there is; otherwise where the trace says, if that
 * is a file on this machine.  Returns an exit code: that nothing was found
 * only if there is a folder.
 */
int script_trace_show(const char *maps, const char *text, size_t size,
                      bool is_json);

#endif
