/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source files and names of inlined functions of a unit, as the builder of
 * functions takes them: each is made when it is first used.  Those of the
 * units before it stay until the owner sets the number of sources and the
 * count of names to 0.
 */
#pragma once

#include "debuginfo/function_builder.h"
#include "entry.h"
#include "line_header.h"
#include "unit.h"

struct dwarf_sources {
    struct symc_source *sources; /* of some units, one after the other */
    size_t first;                /* of this unit: an empty one */
    size_t num_sources;
    size_t source_room;
    uint32_t
        *numbers; /* file number: index of its source, or 0; of this unit */
    size_t num_numbers;
    size_t number_room;
};

struct dwarf_name_slot {
    uint64_t key;
    uint32_t name;
    uint32_t unit; /* slots of other units are free */
};

struct dwarf_names {
    struct inlinee_name *list;
    size_t count;
    size_t room;
    struct dwarf_name_slot *slots;
    size_t num_slots; /* a power of two, or 0 */
    size_t used;
    uint32_t unit;
};

/* Begins a unit.  Its lines may be NULL.  The data of comp_dir may be NULL: it
 * is none that can be written.  Returns 0, or -1 with failure set. */
int dwarf_sources_begin(struct dwarf_sources *files,
                        struct dwarf_reader *reader,
                        const struct symc_text *comp_dir,
                        const struct dwarf_lines *lines);

/* Begins a unit.  Returns 0, or -1 if memory runs out. */
int dwarf_names_begin(struct dwarf_names *names);

/* Makes the source of a file number; see dwarf_sources_find(). */
int dwarf_sources_add(struct dwarf_sources *files, struct dwarf_reader *reader,
                      const struct dwarf_unit *unit,
                      const struct dwarf_root *root,
                      const struct dwarf_lines *lines, uint64_t number,
                      uint32_t *source);

/*
 * Finds the index of the source of a file number, an empty one if it is not
 * there.  Returns 0, or -1 if memory runs out.  It is asked for each line, of
 * which nearly all have files that have been made before.
 */
static inline int dwarf_sources_find(struct dwarf_sources *files,
                                     struct dwarf_reader *reader,
                                     const struct dwarf_unit *unit,
                                     const struct dwarf_root *root,
                                     const struct dwarf_lines *lines,
                                     uint64_t number, uint32_t *source)
{
    if (number < files->num_numbers && files->numbers[number] != 0) {
        *source = files->numbers[number];
        return 0;
    }
    return dwarf_sources_add(files, reader, unit, root, lines, number, source);
}

/*
 * Finds the index of the name and language of an inlined call.  A language is
 * that of the caller, unless the entry has another.  Returns 0, or -1 with
 * failure set.
 */
int dwarf_names_find(struct dwarf_names *names, struct dwarf_reader *reader,
                     struct dwarf_unit *unit, const struct dwarf_entry *entry,
                     uint8_t caller, uint32_t *name);

void dwarf_sources_free(struct dwarf_sources *files);
void dwarf_names_free(struct dwarf_names *names);
