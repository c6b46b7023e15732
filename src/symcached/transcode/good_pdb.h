/*
 * Copyright (C) the ngx_symcache authors
 *
 * The small PDBs that come with symcached, on which transcoders are tried: one
 * for SymCaches, and a portable one for PpdbCaches.
 */
#ifndef SYMCACHED_TRANSCODE_GOOD_PDB_H
#define SYMCACHED_TRANSCODE_GOOD_PDB_H

#include <limits.h>
#include <stdbool.h>

#include "proto/key.h"

/* Fills the key of what a transcoder is to make of it, and the path where it
 * is, or ought to be.  Returns false if it is not there, or if there is none
 * for the kind. */
bool good_pdb_find(symcache_kind_e kind, symcache_key_t *key,
                   char path[PATH_MAX]);

#endif
