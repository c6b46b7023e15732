/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the converter.
 */
#pragma once

#include "debuginfo/format.h"
#include "conversion.h"
#include "output_file.h"

/*
 * Make a symbfile: convert a file to a SymCache in memory, and that to a
 * symbfile.
 *
 * The first makes ranges of a file, which may also be a SymCache.  Addresses
 * are those of an ELF file itself; of other files they are relative to the
 * image.  Returns 0, or -1 with failure set.
 */
debuginfo_convert symbfile_output;

/* The same with return pads, for which the file must have the code. */
debuginfo_convert symbfile_output_pads;
