/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that come with symcached, found by where its program lies: in a build
 * tree, below /opt, or where "make install" puts them.
 */
#ifndef BASE_INSTALLED_FILE_H
#define BASE_INSTALLED_FILE_H

#include <limits.h>
#include <stdbool.h>

/*
 * Writes the path of name, relative to the folder of the running program.
 * Returns false if there is no room for it; the file may be missing.
 */
bool beside_path(char path[PATH_MAX], const char *name);

#endif
