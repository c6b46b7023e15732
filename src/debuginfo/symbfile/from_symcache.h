/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes symbfiles of a SymCache.  Names are those of the SymCache without the
 * suffixes of GCC and LLVM for parts and copies of functions.
 */
#pragma once

#include "debuginfo/failure.h"
#include "debuginfo/machine_code.h"

/* Writes the ranges of all functions to the sink.  base is added to addresses.
 * Returns 0, or -1 with failure set. */
int symbfile_ranges_from_symcache(const struct symc_reader *symcache,
                                  uint64_t base, const struct symc_sink *sink,
                                  struct failure *failure);

/* Writes a return pad for each call instruction of the code that is in a
 * function.  Code of other architectures than x86 and arm64 is refused. */
int symbfile_pads_from_symcache(const struct symc_reader *symcache,
                                uint64_t base, const struct code *code,
                                const struct symc_sink *sink,
                                struct failure *failure);
