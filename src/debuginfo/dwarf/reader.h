/*
 * Copyright (C) the ngx_symcache authors
 *
 * What all parts of the reader of DWARF share: sections, units, abbreviations,
 * and the bound on the work.
 */
#pragma once

#include "abbrev.h"
#include "base/arena.h"
#include "base/hash_table.h"
#include "debuginfo/failure.h"
#include "dwarf.h"

struct dwarf_unit;

struct dwarf_reader {
    const struct dwarf_object *object;
    struct dwarf_reader *supplementary; /* of that object, or NULL */
    struct failure *failure;
    uint64_t work; /* steps that are still allowed */
    /* those whose headers have been read, which is as far as the section was
     * needed */
    struct {
        uint64_t start;
        struct dwarf_unit *unit;
    } *units;
    size_t num_units;
    size_t unit_room;
    uint64_t units_end; /* where the next one begins */
    struct arena unit_memory;
    struct dwarf_abbrevs abbrevs;
    struct dwarf_abbrev_table *tables;
    size_t num_tables;
    size_t table_room;
    struct table tables_at; /* by offset and encoding: index + 1 */
    uint32_t age;           /* how often what tables hold was forgotten */
    unsigned kept;          /* attributes that are too few for that: how often
                             * their first number was doubled */
};

/* Begins to read an object.  The reader must be all zero. */
void dwarf_reader_init(struct dwarf_reader *reader,
                       const struct dwarf_object *object,
                       struct failure *failure);

void dwarf_reader_free(struct dwarf_reader *reader);

/* Sets a failure: damage at an offset of a section.  Returns -1. */
int dwarf_damaged(struct dwarf_reader *reader, enum dwarf_section_name section,
                  uint64_t offset, const char *what);

/* Counts steps of work whose sum the size of the sections may not bound.
 * Returns 0, or -1 with failure set. */
int dwarf_charge(struct dwarf_reader *reader, uint64_t steps);

/* Returns a cursor on a section from an offset on, which has failed if the
 * offset is outside. */
struct cursor dwarf_cursor(const struct dwarf_reader *reader,
                           enum dwarf_section_name section, uint64_t offset);

/* Where a cursor is. */
uint64_t dwarf_offset(const struct dwarf_reader *reader,
                      enum dwarf_section_name section, const struct cursor *c);

/*
 * Finds the bytes of a string, and counts them as work, since many values can
 * refer to the same long one.  Returns false if the value is none, its string
 * is not there, or, with failure set, work runs out.
 */
bool dwarf_string(struct dwarf_reader *reader, const struct dwarf_unit *unit,
                  const struct dwarf_value *value, const char **text,
                  size_t *size);

/* Reads an entry of .debug_addr.  Returns false if it is not there. */
bool dwarf_address(const struct dwarf_reader *reader,
                   const struct dwarf_unit *unit, uint64_t index,
                   uint64_t *address);
