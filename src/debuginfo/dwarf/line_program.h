/*
 * Copyright (C) the ngx_symcache authors
 *
 * Entries of the list of files, which the program may extend.
 */
#ifndef DEBUGINFO_DWARF_LINE_PROGRAM_H
#define DEBUGINFO_DWARF_LINE_PROGRAM_H

#include "lines.h"

/* Adds it.  Returns 0, or -1 if memory runs out. */
int dwarf_lines_add_file(struct dwarf_lines *lines,
                         const struct dwarf_value *name, uint64_t directory);

#endif
