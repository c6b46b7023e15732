/*
 * Copyright (C) the ngx_symcache authors
 *
 * The table of functions that have unwind information, .pdata, and the
 * addresses that lead from there to it (.xdata).  What an entry says depends on
 * the processor: unwind_amd64.c, unwind_arm64.c.
 */
#include "unwind.h"

const uint8_t *pe_pdata_at(const struct pe_image *image, uint64_t address,
                           uint32_t size)
{
    uint64_t offset = address > UINT32_MAX
                          ? PE_NO_OFFSET
                          : pe_image_offset(image, (uint32_t)address);

    return offset == PE_NO_OFFSET ? NULL : pe_image_at(image, offset, size);
}

int pe_pdata(const struct pe_image *image, const uint8_t **table,
             uint32_t *size, struct failure *failure)
{
    uint32_t address;

    if (!pe_image_directory(image, PE_EXCEPTIONS, &address, size)) {
        return 0;
    }
    *table = pe_pdata_at(image, address, *size);
    return *table != NULL ? 1
                          : failure_set(failure, FAILURE_DAMAGED,
                                        "is damaged: bad table of functions");
}
