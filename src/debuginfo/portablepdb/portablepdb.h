/*
 * Copyright (C) the ngx_symcache authors
 *
 * Portable PDBs, of .NET: what other rooms may use of their reader.
 */
#ifndef DEBUGINFO_PORTABLEPDB_H
#define DEBUGINFO_PORTABLEPDB_H

#include "convert.h"
#include "embedded.h"
#include "identity.h"

#endif
