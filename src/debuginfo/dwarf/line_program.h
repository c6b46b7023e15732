/*
 * Copyright (C) the ngx_symcache authors
 *
 * Line number programs (DWARF 5, section 6.2): which source file and line each
 * address is from.
 */
#pragma once

#include "line_header.h"

/* Runs the program, unless that was done.  An error ends it, which is no
 * failure.  Returns 0, or -1 with failure set if memory or work runs out. */
int dwarf_lines_run(struct dwarf_reader *reader, struct dwarf_lines *lines);

/* Finds the rows of a range of addresses.  They are all of one sequence: the
 * first that has code in the range.  Sets *first and returns their number;
 * *sequence is where they are. */
size_t dwarf_lines_find(const struct dwarf_lines *lines, uint64_t begin,
                        uint64_t end, const struct dwarf_sequence **sequence,
                        size_t *first);
