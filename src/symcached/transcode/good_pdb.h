/*
 * Copyright (C) the ngx_symcache authors
 *
 * The small PDB that comes with symcached, on which transcoders are tried.
 */
#ifndef SYMCACHED_TRANSCODE_GOOD_PDB_H
#define SYMCACHED_TRANSCODE_GOOD_PDB_H

#include <limits.h>
#include <stdbool.h>

#include "proto/key.h"

/* Fills its key, and the path where it is, or ought to be.  Returns false if it
 * is not there. */
bool good_pdb_find(symcache_key_t *key, char path[PATH_MAX]);

#endif
