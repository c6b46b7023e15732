/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts an ELF file in memory to a SymCache: functions from its DWARF, and
 * those that only its symbol tables have.
 */
#ifndef DEBUGINFO_ELF_CONVERT_H
#define DEBUGINFO_ELF_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format elf_format;

#endif
