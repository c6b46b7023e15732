/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the call frame information of a PDB.
 */
#include "cfi.h"
#include "debuginfo/pdb/pdb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cfi_check(pdb_format.makes[1].read_cfi, data, size);
    return 0;
}
