/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the unwind information of a PE image.
 */
#ifndef DEBUGINFO_PE_CFI_H
#define DEBUGINFO_PE_CFI_H

#include "debuginfo/cfi.h"

/* A cfi_read. */
int pe_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                struct failure *failure);

#endif
