/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files of split DWARF that belong to an ELF file: .dwo files, which are
 * object files, and packages (.dwp) of them.
 */
#pragma once

#include "debuginfo/dwarf/dwarf.h"
#include "debuginfo/failure.h"
#include "debuginfo/supplement.h"
#include "file.h"

struct elf_split {
    struct dwarf_split *list;
    size_t count;
    uint8_t **inflated; /* sections that were decompressed */
    size_t num_inflated;
    size_t inflated_room;
};

/* Finds the sections of files, of which those that are none for that program
 * are left out.  Returns 0, or -1 with failure set if memory runs out; to be
 * freed in both cases. */
int elf_split_open(struct elf_split *split, const struct elf_file *program,
                   const struct supplement *files, struct failure *failure);

void elf_split_free(struct elf_split *split);

/* As dwarf_split_paths(), of an ELF file. */
size_t elf_split_paths(const uint8_t *data, size_t size, char *paths,
                       size_t room);
