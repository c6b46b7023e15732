/*
 * Copyright (C) the ngx_symcache authors
 *
 * Ranges of addresses: lists in .debug_ranges (DWARF 4, section 2.17.3) and
 * .debug_rnglists (DWARF 5, section 7.25).
 */
#ifndef DEBUGINFO_DWARF_RANGES_H
#define DEBUGINFO_DWARF_RANGES_H

#include "reader.h"

struct dwarf_range {
    uint64_t begin;
    uint64_t end;
};

struct dwarf_ranges {
    struct dwarf_range *list;
    size_t count;
    size_t room;
};

/* Adds a range.  Returns 0, or -1 with failure set. */
int dwarf_ranges_add(struct dwarf_reader *reader, struct dwarf_ranges *ranges,
                     uint64_t begin, uint64_t end);

/*
 * Adds the ranges of a list, to which an attribute refers.  Leaves out empty
 * ones and those of code that a linker removed.  Returns 0, or -1 with failure
 * set.
 */
int dwarf_ranges_read(struct dwarf_reader *reader,
                      const struct dwarf_unit *unit,
                      const struct dwarf_value *value,
                      struct dwarf_ranges *ranges);

#endif
