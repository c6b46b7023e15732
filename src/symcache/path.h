/*
 * Copyright (C) the ngx_symcache authors
 *
 * The path of a source file, put together from the three parts that a
 * SymCache stores, for Windows and Unix paths alike whatever this machine is.
 * The result is what the "symbolic" library gives.
 */
#ifndef SYMCACHE_PATH_H
#define SYMCACHE_PATH_H

#include <stddef.h>

#include "string.h"

/* How many bytes the path of these parts can have at most. */
size_t symfile_path_room(const struct symfile_string *comp_dir,
                         const struct symfile_string *directory,
                         const struct symfile_string *name);

/*
 * Joins the parts into out, which has symfile_path_room() bytes, and cleans
 * the result: "." is dropped, ".." takes what precedes it away, separators
 * become the one of the path's system.  An absent part is an empty one.
 * Returns the length of the path; there is no NUL behind it.
 */
size_t symfile_path_join(const struct symfile_string *comp_dir,
                         const struct symfile_string *directory,
                         const struct symfile_string *name, char *out);

#endif
