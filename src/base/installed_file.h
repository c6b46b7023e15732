/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that come with symcached.  They are found relative to its program, so
 * that this works in a build tree, below /opt, and after "make install".
 */
#ifndef BASE_INSTALLED_FILE_H
#define BASE_INSTALLED_FILE_H

#include <limits.h>
#include <stdbool.h>

/*
 * Writes the path of name, which is relative to the folder of the running
 * program.  Returns false if the path is too long or the program's own is not
 * known.  Whether the file exists is not checked.
 */
bool beside_path(char path[PATH_MAX], const char *name);

#endif
