/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a CfiCache.
 */
#include <stdlib.h>

#include "cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[200] = "";
    struct cficache_reader reader;

    if (cficache_reader_open(&reader, data, size, error, sizeof(error)) !=
        SYMC_OPENED) {
        if (error[0] == '\0') {
            abort();
        }
        return 0;
    }
    if (cficache_verify(&reader, error, sizeof(error)) != SYMC_SOUND &&
        error[0] == '\0') {
        abort();
    }
    cfi_use(&reader);
    return 0;
}
