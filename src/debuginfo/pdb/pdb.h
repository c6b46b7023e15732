/*
 * Copyright (C) the ngx_symcache authors
 *
 * Windows PDB files: what other rooms may use of their reader.
 */
#ifndef DEBUGINFO_PDB_H
#define DEBUGINFO_PDB_H

#include "convert.h"
#include "identity.h"

#endif
