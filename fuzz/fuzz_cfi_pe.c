/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the call frame information of a PE image.
 */
#include "cfi.h"
#include "debuginfo/pe/pe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cfi_check(pe_format.makes[1].read_cfi, data, size);
    return 0;
}
