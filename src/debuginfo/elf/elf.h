/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of ELF files.
 */
#pragma once

#include "debuginfo/format.h"
#include "debuginfo/machine_code.h"

#include "altlink.h"
#include "file.h"
#include "identity.h"
#include "split_files.h"

/* Converts an ELF file in memory to a SymCache: functions from its DWARF, and
 * those that only its symbol tables have. */
extern const struct debuginfo_format elf_format;

/* For its table. */
cfi_read elf_cfi_read;

/* Reads the instructions of a whole file in memory.  A damaged one, or a debug
 * file, has no parts.  Returns 0, or -1 when out of memory.  The code is to be
 * freed in any case. */
int elf_instructions_read(const uint8_t *data, size_t size, struct code *code);

/* Writes a CodeCache, as the convert of a struct debuginfo_maker does. */
debuginfo_convert elf_code_convert;
