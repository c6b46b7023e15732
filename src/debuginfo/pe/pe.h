/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of PE images (.exe, .dll, .sys).
 */
#pragma once

#include "debuginfo/format.h"
#include "debuginfo/machine_code.h"

#include "debug_directory.h"
#include "identity.h"

/* Converts a PE image in memory, or its companion of debug information, to a
 * SymCache. */
extern const struct debuginfo_format pe_format;

/* For its table. */
cfi_read pe_cfi_read;

/* Reads the instructions of a whole file in memory.  A damaged one, or a debug
 * file, has no parts.  Returns 0, or -1 when out of memory.  The code is to be
 * freed in any case. */
int pe_instructions_read(const uint8_t *data, size_t size, struct code *code);

/* Writes a CodeCache, as the convert of a struct debuginfo_maker does. */
debuginfo_convert pe_code_convert;
