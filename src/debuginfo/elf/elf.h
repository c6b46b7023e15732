/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of ELF files.
 */
#ifndef DEBUGINFO_ELF_H
#define DEBUGINFO_ELF_H

#include "debuginfo/format.h"

#include "altlink.h"
#include "file.h"
#include "identity.h"
#include "instructions.h"
#include "split_files.h"

/* Converts an ELF file in memory to a SymCache: functions from its DWARF, and
 * those that only its symbol tables have. */
extern const struct debuginfo_format elf_format;

/* For its table. */
cfi_read elf_cfi_read;

#endif
