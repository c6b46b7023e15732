/*
 * Copyright (C) the ngx_symcache authors
 *
 * Debugging information entries: what the attributes of functions and inlined
 * calls say, and what they inherit from the entries that they refer to.
 */
#pragma once

#include "ranges.h"
#include "reader.h"

/* Attributes that concern functions.  One that is not there has a kind only,
 * and of a call no line is line 0.  Where one is there twice, the first
 * linkage name and abstract origin count, and the last one of all others. */
struct dwarf_entry {
    struct dwarf_value low_pc;
    struct dwarf_value high_pc;
    struct dwarf_value call_file;
    struct dwarf_value call_line;
    struct dwarf_value name;
    struct dwarf_value linkage_name;
    struct dwarf_value reference; /* abstract origin or specification */
    struct dwarf_value origin;    /* abstract origin */
};

/*
 * Reads the attributes after an abbreviation code.  The cursor fails where
 * they are damaged.  If ranges is not NULL, the lists of ranges to which they
 * refer are added to it.  Returns 0, or -1 with failure set for those lists.
 */
int dwarf_entry_read(struct dwarf_reader *reader,
                     const struct dwarf_unit *unit,
                     const struct dwarf_abbrev *abbrev, struct cursor *c,
                     struct dwarf_entry *entry, struct dwarf_ranges *ranges);

/*
 * Finds the name of an entry, its own or that of an entry to which it refers.
 * Returns 1 with the name, 0 if there is none, which includes all damage, or
 * -1 with failure set if memory or work runs out.
 */
int dwarf_entry_name(struct dwarf_reader *reader, struct dwarf_unit *unit,
                     const struct dwarf_entry *entry, const char **name,
                     size_t *size);

/*
 * Finds the language of an entry that link-time optimization took from another
 * unit.  Returns 1 with the language, 0 if it is that of the unit, or -1 as
 * above.
 */
int dwarf_entry_language(struct dwarf_reader *reader, struct dwarf_unit *unit,
                         const struct dwarf_entry *entry, uint8_t *language);
