/*
 * Copyright (C) the ngx_symcache authors
 *
 * One section of an ELF file, by its name, as debuginfod serves it: its bytes
 * as they lie in the file, compressed or not.
 */
#ifndef DEBUGINFO_ELF_SECTION_H
#define DEBUGINFO_ELF_SECTION_H

#include <stddef.h>
#include <stdint.h>

/*
 * Finds where the first section of that name lies.  Returns NULL, or why the
 * file cannot give it: of a debug file, the sections of the program have a name
 * and no bytes.
 */
const char *elf_section_find(const uint8_t *data, size_t size,
                             const char *name, uint64_t *offset,
                             uint64_t *length);

#endif
