/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of Mach-O files: programs and
 * libraries of Apple's systems, and the files in their dSYM bundles.
 */
#pragma once

#include "debuginfo/format.h"

#include "identity.h"

/* Converts a Mach-O image in memory to a SymCache.  Of a fat file the converter
 * passes one slice. */
extern const struct debuginfo_format macho_format;

/* For its table. */
cfi_read macho_cfi_read;
debuginfo_convert macho_code_convert;
