/*
 * Copyright (C) the ngx_symcache authors
 */
#include "split.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define COLUMNS_MAX 16 /* there are 8 numbers of sections */

/* The sections that files of split DWARF have themselves; all others are those
 * of the program. */
static const enum dwarf_section_name own[] = {
    DWARF_INFO, DWARF_ABBREV, DWARF_STR, DWARF_STR_OFFSETS, DWARF_RNGLISTS};

/* Numbers of these sections in the index of a package, of version 5, and in
 * that of GNU tools, whose number 8 is another one that does not count. */
static enum dwarf_section_name section_of(uint32_t number)
{
    switch (number) {
    case 1:
        return DWARF_INFO;
    case 3:
        return DWARF_ABBREV;
    case 6:
        return DWARF_STR_OFFSETS;
    case 8:
        return DWARF_RNGLISTS;
    default:
        return DWARF_SECTIONS;
    }
}

/* opening ----------------------------------------------------------------- */

/* Adds the place of a unit, unless there is one with this id.  Returns 0, or
 * -1 if memory runs out. */
static int add_place(struct dwarf_splits *splits, uint64_t id, size_t file,
                     uint64_t number)
{
    size_t at = 0;
    uint64_t hash = table_hash_number(&splits->ids, id);

    if (table_next(&splits->ids, hash, &at) != 0) {
        return 0;
    }
    if (number > UINT32_MAX || file > UINT32_MAX ||
        array_need(&splits->places, &splits->place_room,
                   splits->num_places + 1, sizeof(*splits->places)) != 0) {
        return -1;
    }
    splits->places[splits->num_places].file = (uint32_t)file;
    splits->places[splits->num_places++].number = (uint32_t)number;
    return table_add(&splits->ids, hash, splits->num_places);
}

/* Reads the numbers at the beginning of an index, and its columns.  Returns
 * the slots of its hash table, or 0 if it is damaged. */
static uint32_t read_index(struct dwarf_split_file *split, struct cursor *c,
                           struct cursor *slots)
{
    struct cursor version = *c;
    uint32_t i, n, section;

    if (cursor_32(&version) != 2 && cursor_16(c) != 5) {
        return 0;
    }
    *c = version;
    split->num_columns = cursor_32(c);
    split->num_rows = cursor_32(c);
    n = cursor_32(c);
    *slots = *c;
    cursor_skip(c, (uint64_t)n * 12);
    if (c->failed || split->num_columns > COLUMNS_MAX) {
        return 0;
    }
    for (i = 0; i < split->num_columns; i++) {
        section = section_of(cursor_32(c));
        if (section < DWARF_SECTIONS) {
            split->columns[section] = (uint8_t)(i + 1);
        }
    }
    split->rows = c->at;
    cursor_skip(c, (uint64_t)split->num_rows * split->num_columns * 8);
    return c->failed || split->columns[DWARF_INFO] == 0 ? 0 : n;
}

/* Adds the units of a package: an open hash table of ids, and the same number
 * of rows from 1 on, 0 for a free slot. */
static int add_package(struct dwarf_splits *splits, size_t file,
                       const struct dwarf_section *index)
{
    uint32_t i, n, row;
    uint64_t id;
    struct dwarf_split_file *split = &splits->files[file];
    struct cursor ids, numbers,
        c = {index->data, index->data + index->size, split->object.is_big,
             false};

    n = read_index(split, &c, &ids);
    if (n == 0) {
        split->rows = NULL;
        return 0;
    }
    numbers = ids;
    cursor_skip(&numbers, (uint64_t)n * 8);
    for (i = 0; i < n; i++) {
        id = cursor_64(&ids);
        row = cursor_32(&numbers);
        if (row > 0 && row <= split->num_rows &&
            add_place(splits, id, file, row) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Adds the units of a .dwo file, which is one as a rule. */
static int add_units(struct dwarf_splits *splits, size_t file)
{
    size_t i;
    struct dwarf_unit *u;
    struct dwarf_root root;
    struct dwarf_reader *d = &splits->files[file].reader;

    for (i = 0; (u = dwarf_unit_get(d, i)) != NULL; i++) {
        if (u->encoding.version < 5 && dwarf_unit_load(d, u, &root) != 0) {
            break;
        }
        if (u->has_dwo_id && add_place(splits, u->dwo_id, file, i) != 0) {
            return -1;
        }
    }
    return 0;
}

static int open_file(struct dwarf_splits *splits,
                     const struct dwarf_object *object, size_t number)
{
    size_t i;
    const struct dwarf_split *split = &object->split[number];
    struct dwarf_split_file *f = &splits->files[number];

    f->object = *object;
    f->object.inflation = NULL;
    f->object.supplementary = NULL;
    f->object.num_split = 0;
    for (i = 0; i < COUNT(own); i++) {
        f->object.sections[own[i]] = split->sections[own[i]];
    }
    dwarf_reader_init(&f->reader, &f->object, &splits->failure);
    return split->index.size > 0 ? add_package(splits, number, &split->index)
                                 : add_units(splits, number);
}

int dwarf_splits_open(struct dwarf_splits *splits,
                      const struct dwarf_object *object,
                      struct failure *failure)
{
    size_t i;

    memset(splits, 0, sizeof(*splits));
    if (object->num_split == 0) {
        return 0;
    }
    splits->files = calloc(object->num_split, sizeof(*splits->files));
    if (splits->files == NULL) {
        return failure_memory(failure);
    }
    for (i = 0; i < object->num_split; i++) {
        splits->num_files = i + 1;
        if (open_file(splits, object, i) != 0) {
            return failure_memory(failure);
        }
        if (dwarf_splits_end(splits, failure) < 0) {
            return -1;
        }
    }
    return 0;
}

void dwarf_splits_free(struct dwarf_splits *splits)
{
    size_t i;

    for (i = 0; i < splits->num_files; i++) {
        dwarf_reader_free(&splits->files[i].reader);
    }
    free(splits->files);
    free(splits->places);
    table_free(&splits->ids);
    memset(splits, 0, sizeof(*splits));
}

/* finding ----------------------------------------------------------------- */

/* Where a section has the part of the unit of a row. */
static uint64_t part_of(const struct dwarf_split_file *split, uint32_t row,
                        enum dwarf_section_name section)
{
    size_t at;

    if (split->rows == NULL || split->columns[section] == 0) {
        return 0;
    }
    at = (size_t)(row - 1) * split->num_columns + split->columns[section] - 1;
    return byte_order_32(split->rows + 4 * at, split->object.is_big);
}

/* The attributes that a whole unit would have: where its strings, its
 * addresses and its ranges are. */
static void set_bases(const struct dwarf_split_file *split, uint32_t row,
                      const struct dwarf_unit *skeleton, struct dwarf_unit *u)
{
    bool is_wide = u->encoding.offset_size == 8;

    u->str_offsets_base = part_of(split, row, DWARF_STR_OFFSETS);
    u->ranges_base = skeleton->rnglists_base;
    if (u->encoding.version >= 5) { /* after the headers of the parts */
        u->str_offsets_base += is_wide ? 16 : 8;
        u->ranges_base = part_of(split, row, DWARF_RNGLISTS);
        u->rnglists_base = u->ranges_base + (is_wide ? 20 : 12);
    }
    u->addr_base = skeleton->addr_base;
}

struct dwarf_unit *dwarf_splits_find(struct dwarf_splits *splits,
                                     const struct dwarf_unit *skeleton,
                                     struct dwarf_reader **reader,
                                     struct dwarf_root *root)
{
    size_t at = 0;
    uintptr_t found =
        skeleton->has_dwo_id
            ? table_next(&splits->ids,
                         table_hash_number(&splits->ids, skeleton->dwo_id),
                         &at)
            : 0;
    const struct dwarf_split_place *place;
    struct dwarf_split_file *split;
    struct dwarf_unit *u;

    if (found == 0) {
        return NULL;
    }
    place = &splits->places[found - 1];
    split = &splits->files[place->file];
    *reader = &split->reader;
    dwarf_units_forget(*reader);
    u = split->rows == NULL
            ? dwarf_unit_get(*reader, place->number)
            : dwarf_unit_at(*reader,
                            part_of(split, place->number, DWARF_INFO));
    if (u == NULL) {
        return NULL;
    }
    if (!u->is_placed) {
        u->is_placed = true;
        u->abbrev_offset += part_of(split, place->number, DWARF_ABBREV);
    }
    set_bases(split, place->number, skeleton, u);
    if (dwarf_unit_load(*reader, u, root) != 0 ||
        u->state != DWARF_UNIT_READY) {
        return NULL;
    }
    u->low_pc = skeleton->low_pc;
    return u;
}

int dwarf_splits_end(struct dwarf_splits *splits, struct failure *failure)
{
    int rc = splits->failure.code == FAILURE_NONE ? 0 : 1;

    if (rc > 0 && splits->failure.code != FAILURE_DAMAGED) {
        *failure = splits->failure;
        rc = -1;
    }
    memset(&splits->failure, 0, sizeof(splits->failure));
    return rc;
}

/* names ------------------------------------------------------------------- */

/* Adds the path of the file of a unit.  Returns how many bytes were written:
 * 0 without one, or without room for it. */
static size_t add_path(struct dwarf_reader *d, const struct dwarf_unit *u,
                       const struct dwarf_root *root, char *paths, size_t room)
{
    size_t size, dir_size;
    const char *name, *dir;

    if (!dwarf_string(d, u, &root->dwo_name, &name, &size) || size == 0) {
        return 0;
    }
    if (name[0] == '/' ||
        !dwarf_string(d, u, &root->comp_dir, &dir, &dir_size)) {
        dir_size = 0;
    }
    if (size >= room || dir_size + 2 > room - size) {
        return 0;
    }
    if (dir_size > 0) {
        memcpy(paths, dir, dir_size);
        paths[dir_size++] = '/';
    }
    memcpy(paths + dir_size, name, size);
    paths[dir_size + size] = '\0';
    return dir_size + size + 1;
}

size_t dwarf_split_paths(const struct dwarf_object *object, char *paths,
                         size_t room)
{
    size_t i, used = 0;
    struct dwarf_root root;
    struct dwarf_unit *u;
    struct failure failure = {FAILURE_NONE, ""};
    struct dwarf_reader d = {0};

    dwarf_reader_init(&d, object, &failure);
    for (i = 0; (u = dwarf_unit_get(&d, i)) != NULL; i++) {
        dwarf_units_forget(&d);
        if (dwarf_unit_load(&d, u, &root) != 0) {
            break;
        }
        if (u->has_dwo_id) {
            used += add_path(&d, u, &root, paths + used, room - used);
        }
    }
    dwarf_reader_free(&d);
    return used;
}
