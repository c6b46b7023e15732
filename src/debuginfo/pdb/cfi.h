/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the frame data of a PDB: how functions of x86 use the stack.
 */
#ifndef DEBUGINFO_PDB_CFI_H
#define DEBUGINFO_PDB_CFI_H

#include "debuginfo/cfi.h"

/* A cfi_read. */
int pdb_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                 struct failure *failure);

#endif
