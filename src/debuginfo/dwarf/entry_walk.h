/*
 * Copyright (C) the ngx_symcache authors
 *
 * Walks the entries of a unit, and gives its functions to the writer.
 */
#pragma once

#include "batch.h"
#include "ranges.h"

/* An entry whose children are being read. */
struct dwarf_open_entry {
    int64_t depth;
    size_t function;       /* index of the open function that it is in */
    uint32_t inline_depth; /* of calls that are inlined into it */
    uint8_t language;
    bool is_function;
    bool is_dead;       /* it has no code, so only functions in it count */
    size_t first_range; /* of a function */
    size_t num_ranges;
    size_t first_inlinee;
    struct symc_name name;
};

struct dwarf_inlinee {
    struct inlined_range inlinee;
    size_t range; /* of the function: its number */
};

/* Must be all zero at the beginning, but for both readers, the writer of the
 * batches and the work of their builder. */
struct dwarf_walk {
    struct dwarf_reader *reader;
    struct dwarf_unit *unit;
    /* Which have the lines, and the names of files: the same, but for a unit
     * of split DWARF, for which they are those of its skeleton unit. */
    struct dwarf_reader *line_reader;
    struct dwarf_unit *line_unit;
    struct dwarf_root root;
    bool has_lines;
    struct dwarf_lines lines;
    struct dwarf_batches batches;
    struct symc_set seen;           /* address and size of all functions */
    struct dwarf_ranges ranges;     /* of the entry that is being read */
    struct dwarf_ranges live;       /* of open functions, a stack */
    struct dwarf_ranges covered;    /* of all functions of the unit */
    struct dwarf_inlinee *inlinees; /* in open functions, a stack */
    size_t num_inlinees;
    size_t inlinee_room;
    struct dwarf_open_entry *open; /* a stack */
    size_t num_open;
    size_t open_room;
};

/* Adds the functions of the unit whose root entry has been read; some are not
 * written before dwarf_walk_end().  Returns 0, or -1 with failure set. */
int dwarf_walk_unit(struct dwarf_walk *walk);

/* Writes the functions that wait, also those before an entry that could not be
 * read.  Returns 0, or -1 with failure set. */
int dwarf_walk_end(struct dwarf_walk *walk, struct failure *failure);

void dwarf_walk_free(struct dwarf_walk *walk);
