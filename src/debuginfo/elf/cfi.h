/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the call frame information of an ELF file.
 */
#ifndef DEBUGINFO_ELF_CFI_H
#define DEBUGINFO_ELF_CFI_H

#include "debuginfo/cfi.h"

/* A cfi_read. */
int elf_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                 struct failure *failure);

#endif
