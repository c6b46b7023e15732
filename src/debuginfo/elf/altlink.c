/*
 * Copyright (C) the ngx_symcache authors
 */
#include "altlink.h"

#include <string.h>

#include "file.h"

bool elf_altlink_read(const uint8_t *data, size_t size,
                      struct elf_altlink *link)
{
    struct elf_file file;
    struct elf_section section;
    const uint8_t *p, *end;

    if (elf_file_open(&file, data, size) != NULL ||
        !elf_file_find_named(&file, ".gnu_debugaltlink", &section) ||
        section.type == ELF_SHT_NOBITS || section.offset > size ||
        section.size > size - section.offset) {
        return false;
    }
    p = data + section.offset;
    end = memchr(p, '\0', (size_t)section.size);
    if (end == NULL || end == p || end - p >= ELF_ALTLINK_PATH) {
        return false;
    }
    link->id_size = (size_t)(p + section.size - (end + 1));
    if (link->id_size == 0 || link->id_size > sizeof(link->id)) {
        return false;
    }
    memcpy(link->path, p, (size_t)(end - p) + 1);
    memcpy(link->id, end + 1, link->id_size);
    return true;
}
