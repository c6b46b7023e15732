/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the call frame information of a Mach-O image.
 */
#ifndef DEBUGINFO_MACHO_CFI_H
#define DEBUGINFO_MACHO_CFI_H

#include <stddef.h>
#include <stdint.h>

struct cfi;
struct failure;

/* A cfi_read. */
int macho_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                   struct failure *failure);

#endif
