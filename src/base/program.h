/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where the program of a transcoder lies.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <limits.h>
#include <stddef.h>

/* The PATH of whom has none. */
#define PROGRAM_PATH "/usr/local/bin:/usr/bin:/bin"

/*
 * Writes the path of an executable file of this name, which has no slash: in
 * a folder of PATH, or else beside symcached.  Returns 0, or -1 with one line
 * in error: "no transcoder: ...".
 */
int program_find(const char *name, char path[PATH_MAX], char *error,
                 size_t size);

#endif
