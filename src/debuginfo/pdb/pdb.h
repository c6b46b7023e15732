/*
 * Copyright (C) the ngx_symcache authors
 *
 * Windows PDB files: what other rooms may use of their reader.
 */
#pragma once

#include "debuginfo/format.h"

#include "identity.h"

/* Converts a PDB in memory to a SymCache. */
extern const struct debuginfo_format pdb_format;

/* For its table. */
cfi_read pdb_cfi_read;
debuginfo_convert pdb_convert_sources;
