/*
 * Copyright (C) the ngx_symcache authors
 *
 * The program of a table of lines, which makes its rows.
 */
#ifndef DEBUGINFO_DWARF_LINE_PROGRAM_H
#define DEBUGINFO_DWARF_LINE_PROGRAM_H

#include "line_header.h"

/* Runs the program, unless that was done.  An error ends it, which is no
 * failure.  Returns 0, or -1 with failure set if memory or work runs out. */
int dwarf_lines_run(struct dwarf_reader *reader, struct dwarf_lines *lines);

#endif
