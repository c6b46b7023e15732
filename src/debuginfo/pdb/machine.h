/*
 * Copyright (C) the ngx_symcache authors
 *
 * What converters of PDBs have in common.
 */
#pragma once

#include "debuginfo/failure.h"
#include "msf.h"

/* Returns the number that SymCaches have for a machine of the DBI stream, and
 * the size of its pointers. */
uint32_t pdb_arch(uint32_t machine);
unsigned pdb_pointer_size(uint32_t machine);

/* Sets the failure of a file that msf_open() does not open.  Returns -1. */
int pdb_open_failed(enum msf_status status, const char *text,
                    struct failure *failure);
