/*
 * Copyright (C) the ngx_symcache authors
 */
#include "split_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/byte_order.h"
#include "debuginfo/scratch.h"

#define DW_UT_SPLIT_TYPE 6

/* Decompresses a section.  Returns 0, with no data if it is damaged, or -1
 * with failure set if memory runs out. */
static int unpack_section(struct elf_split *split, const struct elf_file *f,
                          struct dwarf_section *s, struct failure *failure)
{
    if (array_need(&split->inflated, &split->inflated_room,
                   split->num_inflated + 1, sizeof(*split->inflated)) != 0 ||
        dwarf_inflate(s, f->is_64, f->is_big) != 0) {
        return failure_memory(failure);
    }
    split->inflated[split->num_inflated++] = (uint8_t *)(uintptr_t)s->data;
    return 0;
}

/*
 * Does a section begin with a unit of types?  GCC writes each of them into a
 * section of its own, which has the name of that with the functions and comes
 * before it.  The type of a unit is behind its length and version (DWARF 5,
 * 7.5.1).
 */
static bool has_types(const struct elf_file *f, const struct dwarf_section *s)
{
    static const uint8_t wide[] = {0xff, 0xff, 0xff, 0xff};
    size_t at = 4;

    if (s->size < 15) {
        return false;
    }
    if (memcmp(s->data, wide, sizeof(wide)) == 0) {
        at = 12;
    }
    return byte_order_16(s->data + at, f->is_big) == 5 &&
           s->data[at + 2] == DW_UT_SPLIT_TYPE;
}

/* Finds a section, and decompresses it; of several, the first one without
 * units of types, or else the first.  Returns 0, or -1 with failure set if
 * memory runs out. */
static int take_section(struct elf_split *split, const struct elf_file *f,
                        const char *title, struct dwarf_section *section,
                        struct failure *failure)
{
    uint64_t number = 0;
    bool is_last;
    struct dwarf_found found;

    do {
        found = elf_file_find_next(f, title, &number);
        if (found.is_compressed &&
            unpack_section(split, f, &found.section, failure) != 0) {
            return -1;
        }
        is_last = found.section.data == NULL ||
                  strcmp(title, "debug_info.dwo") != 0 ||
                  !has_types(f, &found.section);
        if (found.section.data != NULL && (is_last || section->data == NULL)) {
            *section = found.section;
        }
    } while (!is_last);
    return 0;
}

static int take_sections(struct elf_split *split, const struct elf_file *f,
                         struct dwarf_split *d, struct failure *failure)
{
    unsigned i;
    char title[64];

    for (i = 0; i < DWARF_SECTIONS; i++) {
        snprintf(title, sizeof(title), "%s.dwo",
                 dwarf_section_title((enum dwarf_section_name)i));
        if (take_section(split, f, title, &d->sections[i], failure) != 0) {
            return -1;
        }
    }
    return take_section(split, f, "debug_cu_index", &d->index, failure);
}

int elf_split_open(struct elf_split *split, const struct elf_file *program,
                   const struct supplement *files, struct failure *failure)
{
    size_t i;
    struct elf_file f;

    memset(split, 0, sizeof(*split));
    if (files->num_split == 0) {
        return 0;
    }
    split->list = calloc(files->num_split, sizeof(*split->list));
    if (split->list == NULL) {
        return failure_memory(failure);
    }
    for (i = 0; i < files->num_split; i++) {
        if (elf_file_open(&f, files->split[i].data, files->split[i].size) !=
                NULL ||
            f.is_big != program->is_big || f.machine != program->machine) {
            continue;
        }
        if (take_sections(split, &f, &split->list[split->count++], failure) !=
            0) {
            return -1;
        }
    }
    return 0;
}

void elf_split_free(struct elf_split *split)
{
    size_t i;

    for (i = 0; i < split->num_inflated; i++) {
        scratch_free(split->inflated[i]);
    }
    free(split->inflated);
    free(split->list);
    memset(split, 0, sizeof(*split));
}

size_t elf_split_paths(const uint8_t *data, size_t size, char *paths,
                       size_t room)
{
    unsigned i;
    int rc = 0;
    size_t used = 0;
    struct elf_file f;
    struct elf_split split = {0};
    struct dwarf_object object = {0};
    struct failure failure = {FAILURE_NONE, ""};

    if (elf_file_open(&f, data, size) != NULL) {
        return 0;
    }
    object.is_big = f.is_big;
    for (i = 0; rc == 0 && i < DWARF_SECTIONS; i++) {
        rc = take_section(&split, &f,
                          dwarf_section_title((enum dwarf_section_name)i),
                          &object.sections[i], &failure);
    }
    if (rc == 0) {
        used = dwarf_split_paths(&object, paths, room);
    }
    elf_split_free(&split);
    return used;
}
