/*
 * Copyright (C) the ngx_symcache authors
 *
 * Exception tables of 32-bit ARM (IHI 0038, "Exception handling ABI for the Arm
 * architecture"): functions in .ARM.exidx, and there or in .ARM.extab the
 * instructions that undo their prologs.
 */
#pragma once

#include "debuginfo/cfi.h"
#include "file.h"

/*
 * Adds all functions as corrections, as the "symbolic" library does not read
 * these tables.  They count where DWARF, which is of some objects only, says
 * nothing.  Of entries that are damaged, or whose instructions cannot be
 * written as rules, nothing is added.  Returns 0, or -1 with the failure set.
 */
int elf_ehabi_read(const struct elf_file *file, struct cfi *cfi);
