/*
 * Copyright (C) the ngx_symcache authors
 *
 * Units of .debug_info: their headers, root entries, and finding them by an
 * offset (DWARF 5, sections 3.1 and 7.5.1).
 */
#pragma once

#include "reader.h"

enum dwarf_unit_state {
    DWARF_UNIT_UNREAD,
    DWARF_UNIT_READY,
    DWARF_UNIT_EMPTY, /* it has no entry */
    DWARF_UNIT_BAD
};

/* A unit of .debug_info.  Offsets are in that section. */
struct dwarf_unit {
    uint64_t start;
    uint64_t entries; /* the first entry, after the header */
    uint64_t end;
    uint64_t abbrev_offset;
    struct dwarf_encoding encoding;
    uint8_t state; /* enum dwarf_unit_state; the members below are set in
                      READY */
    bool has_language;
    uint8_t language; /* as SymCaches number them */
    uint32_t table;   /* of abbreviations: index in tables */
    uint64_t str_offsets_base;
    uint64_t addr_base;
    uint64_t rnglists_base;
    uint64_t low_pc;
    /* By which a skeleton unit and the rest of it, which is in another file,
     * find each other. */
    bool has_dwo_id;
    uint64_t dwo_id;
    /* Of a unit in such a file: where offsets of range lists count from. */
    uint64_t ranges_base;
    bool is_placed; /* of one in a package: its offsets count from that of its
                     * parts there */
};

/* The values of the root entry that only the unit itself needs. */
struct dwarf_root {
    struct dwarf_value name;
    struct dwarf_value comp_dir;
    struct dwarf_value stmt_list; /* DWARF_OFFSET, if it has lines */
    bool has_ranges;              /* there is an attribute, maybe of nothing */
    bool prefers_dwarf_names;     /* names of the symbol table are worse */
    struct dwarf_value dwo_name;  /* of a skeleton unit: file of the rest */
};

/* Returns the unit of that number, counted from 0, when all of it is there.
 * Returns NULL after the last one, or with failure set. */
struct dwarf_unit *dwarf_unit_get(struct dwarf_reader *reader, size_t number);

/*
 * Reads the table of a unit, and its root entry, if that was not read yet or
 * root is not NULL, and sets its state.  Returns -1 with failure set if memory
 * or work runs out.  In the state BAD, failure is set too if root is not NULL.
 */
int dwarf_unit_load(struct dwarf_reader *reader, struct dwarf_unit *unit,
                    struct dwarf_root *root);

/*
 * Forgets what tables of abbreviations hold if that has become much: those of
 * the next units then take the same memory, which is in the cache.  Between
 * this and using the table of a unit, that must be loaded.
 */
void dwarf_units_forget(struct dwarf_reader *reader);

/* Finds the unit in which there is an entry at an offset, and waits until it is
 * there.  Returns NULL if there is none, or with failure set. */
struct dwarf_unit *dwarf_unit_find(struct dwarf_reader *reader,
                                   uint64_t offset);

/* Finds the unit that begins at an offset.  Returns as dwarf_unit_find(). */
struct dwarf_unit *dwarf_unit_at(struct dwarf_reader *reader, uint64_t offset);

/* The table of a unit that is READY, and was loaded after the last time that
 * tables were forgotten. */
static inline const struct dwarf_abbrev_table *
dwarf_unit_table(const struct dwarf_reader *reader,
                 const struct dwarf_unit *unit)
{
    return &reader->tables[unit->table];
}
