/*
 * Copyright (C) the ngx_symcache authors
 *
 * The small PDBs that come with symcached, on which transcoders are tried: a
 * portable one for PpdbCaches, and one for all other kinds that are made of
 * PDBs.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "proto/key.h"

/* Fills the key of what a transcoder is to make of it, and the path where it
 * is, or ought to be.  Returns false if it is not there, or, with an empty
 * path, if there is none for the kind. */
bool good_pdb_find(symcache_kind_e kind, symcache_key_t *key,
                   char path[PATH_MAX]);
