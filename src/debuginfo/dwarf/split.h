/*
 * Copyright (C) the ngx_symcache authors
 *
 * Split DWARF: a skeleton unit in the program, and the rest of it in a .dwo
 * file, or in a package (.dwp) of them, where the same id leads to it (DWARF
 * 5, sections 3.1.2, 3.1.3 and 7.3.5; before, the extension of GNU tools to
 * DWARF 4).
 */
#pragma once

#include "unit.h"

/* A file that is open. */
struct dwarf_split_file {
    struct dwarf_object object;
    struct dwarf_reader reader;
    /* Of a package: where its units have their parts of the sections, a row a
     * unit, of a column for each section that counts. */
    const uint8_t *rows;
    uint32_t num_rows;
    uint32_t num_columns;
    uint8_t columns[DWARF_SECTIONS]; /* number of the column from 1 on, or 0 */
};

struct dwarf_split_place {
    uint32_t file;
    uint32_t number; /* of the row from 1 on, or without rows of the unit */
};

/* All files. */
struct dwarf_splits {
    struct dwarf_split_file *files;
    size_t num_files;
    struct dwarf_split_place *places;
    size_t num_places;
    size_t place_room;
    struct table ids;       /* of units: index in places + 1 */
    struct failure failure; /* of the readers of all files */
};

/* Opens the files of an object, of which those that are damaged have no units.
 * Returns 0, or -1 with failure set if memory runs out. */
int dwarf_splits_open(struct dwarf_splits *splits,
                      const struct dwarf_object *object,
                      struct failure *failure);

void dwarf_splits_free(struct dwarf_splits *splits);

/* Finds the rest of a skeleton unit, and loads it.  The rest takes over the
 * skeleton's addresses, and in DWARF 4 its lists of ranges.  Returns NULL if
 * it is in none of the files, or cannot be read. */
struct dwarf_unit *dwarf_splits_find(struct dwarf_splits *splits,
                                     const struct dwarf_unit *skeleton,
                                     struct dwarf_reader **reader,
                                     struct dwarf_root *root);

/* Reports the outcome of a unit.  A failure of the files other than damage
 * becomes the object's.  Returns 0, 1 if the unit is damaged, or -1. */
int dwarf_splits_end(struct dwarf_splits *splits, struct failure *failure);
