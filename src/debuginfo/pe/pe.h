/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of PE images (.exe, .dll, .sys).
 */
#ifndef DEBUGINFO_PE_H
#define DEBUGINFO_PE_H

#include "debuginfo/format.h"

#include "debug_directory.h"
#include "identity.h"
#include "instructions.h"

/* Converts a PE image in memory, or its companion of debug information, to a
 * SymCache. */
extern const struct debuginfo_format pe_format;

/* For its table. */
cfi_read pe_cfi_read;

#endif
