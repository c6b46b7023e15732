/*
 * Copyright (C) the ngx_symcache authors
 *
 * The instructions that are in a PE image.
 */
#ifndef DEBUGINFO_PE_INSTRUCTIONS_H
#define DEBUGINFO_PE_INSTRUCTIONS_H

#include "debuginfo/machine_code.h"

/* Reads a whole file in memory.  A damaged one, or a debug file, has no parts.
 * Returns 0, or -1 when out of memory.  The code is to be freed in any case. */
int pe_instructions_read(const uint8_t *data, size_t size, struct code *code);

/* Writes a CodeCache, as the convert of a struct debuginfo_maker does. */
debuginfo_convert pe_code_convert;

#endif
