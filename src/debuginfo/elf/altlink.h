/*
 * Copyright (C) the ngx_symcache authors
 *
 * The section .gnu_debugaltlink, which dwz writes: the path of a file with
 * what several files share, and the build id of that file.  In DWARF 5
 * (section 7.3.6) it is .debug_sup, with a checksum instead of the build id;
 * the other file has that section, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_ALTLINK_PATH 1024 /* with its NUL; longer ones are not read */
#define ELF_ALTLINK_ID 64

struct elf_altlink {
    char path[ELF_ALTLINK_PATH];
    uint8_t id[ELF_ALTLINK_ID];
    size_t id_size;
};

struct elf_file;

/* Returns false if the file has none, or one that cannot be read. */
bool elf_altlink_read(const uint8_t *data, size_t size,
                      struct elf_altlink *link);

/* Reads the section .debug_sup of the other file, whose path is empty. Returns
 * false if it has none: then its build id counts. */
bool elf_altlink_own(const struct elf_file *file, struct elf_altlink *link);

/* The same of a file in memory. */
bool elf_altlink_own_id(const uint8_t *data, size_t size,
                        struct elf_altlink *link);
