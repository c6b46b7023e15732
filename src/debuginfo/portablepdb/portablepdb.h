/*
 * Copyright (C) the ngx_symcache authors
 *
 * Portable PDBs, of .NET: what other rooms may use of their reader.
 */
#pragma once

#include "debuginfo/format.h"

#include "embedded.h"
#include "identity.h"

/* Converts a portable PDB in memory, or one in an image, to a PpdbCache. */
extern const struct debuginfo_format portablepdb_format;
extern const struct debuginfo_format embedded_pdb_format;
