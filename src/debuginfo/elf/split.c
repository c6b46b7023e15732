/*
 * Copyright (C) the ngx_symcache authors
 */
#include "split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "debuginfo/scratch.h"
#include "inflate.h"

/* Finds a section, and decompresses it.  Returns 0, or -1 with failure set if
 * memory runs out. */
static int take(struct elf_split *split, const struct elf_file *f,
                const char *title, struct dwarf_section *section,
                struct failure *failure)
{
    int rc = 1;
    bool is_compressed = false;
    struct elf_bytes inflated, bytes = elf_file_find(f, title, &is_compressed);

    if (bytes.data == NULL) {
        return 0;
    }
    if (is_compressed) {
        if (symc_array_need(&split->inflated, &split->inflated_room,
                            split->num_inflated + 1,
                            sizeof(*split->inflated)) != 0) {
            return failure_memory(failure);
        }
        rc = elf_inflate(f, &bytes, &inflated);
        if (rc <= 0) {
            return rc < 0 ? failure_memory(failure) : 0;
        }
        split->inflated[split->num_inflated++] =
            (uint8_t *)(uintptr_t)inflated.data;
        bytes = inflated;
    }
    section->data = bytes.data;
    section->size = bytes.size;
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
        if (take(split, f, title, &d->sections[i], failure) != 0) {
            return -1;
        }
    }
    return take(split, f, "debug_cu_index", &d->index, failure);
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
        rc = take(&split, &f, dwarf_section_title((enum dwarf_section_name)i),
                  &object.sections[i], &failure);
    }
    if (rc == 0) {
        used = dwarf_split_paths(&object, paths, room);
    }
    elf_split_free(&split);
    return used;
}
