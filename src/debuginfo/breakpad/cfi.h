/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the STACK records of a Breakpad file.
 */
#ifndef DEBUGINFO_BREAKPAD_CFI_H
#define DEBUGINFO_BREAKPAD_CFI_H

#include "debuginfo/cfi.h"

/* A cfi_read. */
int breakpad_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                      struct failure *failure);

#endif
