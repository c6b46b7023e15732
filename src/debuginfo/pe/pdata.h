/*
 * Copyright (C) the ngx_symcache authors
 *
 * The table of functions that have unwind information, .pdata, and the
 * addresses that lead from there to it (.xdata).  What an entry says depends on
 * the processor: unwind_amd64.h, unwind_arm64.h.
 */
#ifndef DEBUGINFO_PE_PDATA_H
#define DEBUGINFO_PE_PDATA_H

#include "debuginfo/failure.h"
#include "image.h"

/* Finds the table: its bytes, which are the image's.  Returns 1; 0 if the image
 * has none; or -1 with failure set. */
int pe_pdata(const struct pe_image *image, const uint8_t **table,
             uint32_t *size, struct failure *failure);

/* Returns size bytes from an address on, or NULL. */
const uint8_t *pe_pdata_at(const struct pe_image *image, uint64_t address,
                           uint32_t size);

#endif
