/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unwind information of Windows: the table .pdata, and what it leads to.
 */
#pragma once

#include "debuginfo/failure.h"
#include "image.h"
#include "debuginfo/cfi.h"

/* Finds the table: its bytes, which are the image's.  Returns 1; 0 if the image
 * has none; or -1 with failure set. */
int pe_pdata(const struct pe_image *image, const uint8_t **table,
             uint32_t *size, struct failure *failure);

/* Returns size bytes from an address on, or NULL. */
const uint8_t *pe_pdata_at(const struct pe_image *image, uint64_t address,
                           uint32_t size);

/* Adds all functions of the image.  Returns 0, or -1 with failure set: damage
 * that the "symbolic" library does not tolerate. */
int pe_unwind_amd64(const struct pe_image *image, struct cfi *cfi,
                    struct failure *failure);

/* Adds all functions of the image.  Those whose information is packed into
 * .pdata are corrections.  Returns 0, or -1 with failure set. */
int pe_unwind_arm64(const struct pe_image *image, struct cfi *cfi,
                    struct failure *failure);
