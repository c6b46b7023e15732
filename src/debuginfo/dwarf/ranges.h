/*
 * Copyright (C) the ngx_symcache authors
 *
 * Ranges of addresses: lists in .debug_ranges (DWARF 4, section 2.17.3) and
 * .debug_rnglists (DWARF 5, section 7.25).
 */
#pragma once

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

/* Sorts ranges by their begin; each then ends where it and those before it
 * end. */
void dwarf_ranges_sort(struct dwarf_ranges *ranges);

/* Is one of them, which were sorted so, in some of these addresses? */
bool dwarf_ranges_overlap(const struct dwarf_ranges *sorted, uint64_t begin,
                          uint64_t end);
