/*
 * Copyright (C) the ngx_symcache authors
 *
 * The symbols that the dynamic linker uses.  They are found without sections,
 * which stripping may remove, in the array of the segment PT_DYNAMIC.
 */
#pragma once

#include "file.h"

/* Sets the dynamic symbols of a file whose segments are known.  Returns false
 * if the dynamic segment is wrong. */
bool elf_dynamic_open(struct elf_file *file);

/* For readers of parts of the file: check a table of strings or symbols, and
 * set what the second or last argument points to.  Return false if it is
 * damaged. */
bool elf_file_strings(const struct elf_file *file, uint64_t offset,
                      uint64_t size, struct elf_strings *strings);
bool elf_file_symbols(const struct elf_file *file, uint64_t offset,
                      uint64_t count, struct elf_symbols *symbols);
