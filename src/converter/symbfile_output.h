/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes a symbfile: converts a file to a SymCache in memory, and that to a
 * symbfile.
 */
#ifndef CONVERTER_SYMBFILE_OUTPUT_H
#define CONVERTER_SYMBFILE_OUTPUT_H

#include "debuginfo/format.h"

/*
 * Makes ranges of a file in memory, which may also be a SymCache.  Addresses
 * are those of an ELF file itself; of other files they are relative to the
 * image.  Returns 0, or -1 with failure set.
 */
debuginfo_convert symbfile_output;

/* The same with return pads, for which the file must have the code. */
debuginfo_convert symbfile_output_pads;

#endif
