/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds the program of a transcoder.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Used where the environment has no PATH. */
#define PROGRAM_PATH "/usr/local/bin:/usr/bin:/bin"

/*
 * Writes the path of an executable file with this name, which has no slash.
 * It is looked for in the folders of PATH, and then beside symcached.  Returns
 * 0, or -1 with one line in error: "no transcoder: ...".
 */
int program_path_find(const char *name, char path[PATH_MAX], char *error,
                      size_t size);

/*
 * Files that come with symcached.  They are found relative to its program, so
 * that this works in a build tree, below /opt, and after "make install".
 */

/*
 * Writes the path of name, which is relative to the folder of the running
 * program.  Returns false if the path is too long or the program's own is not
 * known.  Whether the file exists is not checked.
 */
bool beside_path(char path[PATH_MAX], const char *name);

/* Is /proc there?  Without it the program's own path is not known. */
#define NO_PROC "/proc is not mounted"
bool has_proc(void);
