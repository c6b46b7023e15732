/*
 * Copyright (C) the ngx_symcache authors
 */
#include "section.h"

#include "file.h"

const char *elf_section_find(const uint8_t *data, size_t size,
                             const char *name, uint64_t *offset,
                             uint64_t *length)
{
    struct elf_section section;
    struct elf_file file;
    const char *wrong = elf_file_open(&file, data, size);

    if (wrong != NULL) {
        return wrong;
    }
    if (!elf_file_find_named(&file, name, &section)) {
        return "no such section";
    }
    if (section.type == ELF_SHT_NOBITS || section.size == 0) {
        return "the section has no data in this file";
    }
    if (section.offset > size || section.size > size - section.offset) {
        return "the section lies outside of the file";
    }
    *offset = section.offset;
    *length = section.size;
    return NULL;
}
