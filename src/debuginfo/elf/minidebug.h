/*
 * Copyright (C) the ngx_symcache authors
 *
 * The section .gnu_debugdata ("MiniDebugInfo"): an ELF file in xz's format
 * with the symbols of functions that a stripped program or library would have,
 * as Fedora ships them.
 */
#pragma once

#include <stdint.h>

#include "file.h"

/*
 * Opens the file in that section.  Returns 1, with its bytes to be freed by
 * the caller, 0 if there is none, or it is damaged, larger than real ones are
 * or for another machine, or -1 if memory runs out.
 */
int elf_minidebug_open(const struct elf_file *file, struct elf_file *mini,
                       uint8_t **bytes);
