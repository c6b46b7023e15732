/*
 * Copyright (C) the ngx_symcache authors
 */
#include "altlink.h"

#include <string.h>

#include "debuginfo/dwarf/dwarf.h"
#include "file.h"

#define SUP_VERSION 5 /* of .debug_sup */

/* Finds the bytes of a section. */
static bool find_altlink(const struct elf_file *f, const char *name,
                         struct cursor *c)
{
    struct elf_section s;

    if (!elf_file_find_named(f, name, &s) || s.type == ELF_SHT_NOBITS ||
        s.offset > f->size || s.size > f->size - s.offset) {
        return false;
    }
    c->at = f->data + s.offset;
    c->end = c->at + s.size;
    c->is_big = f->is_big;
    c->failed = false;
    return true;
}

/* Reads a path at the cursor. */
static bool take_path(struct cursor *c, struct elf_altlink *link)
{
    size_t size;
    const char *path = cursor_string(c, &size);

    if (c->failed || size >= sizeof(link->path)) {
        return false;
    }
    memcpy(link->path, path, size + 1);
    return true;
}

/* Reads an id of a size at the cursor. */
static bool take_id(struct cursor *c, uint64_t size, struct elf_altlink *link)
{
    if (size == 0 || size > sizeof(link->id) || !cursor_has(c, size)) {
        return false;
    }
    link->id_size = (size_t)size;
    memcpy(link->id, c->at, link->id_size);
    return true;
}

/* Reads .debug_sup of one of both files. */
static bool read_sup(const struct elf_file *f, bool is_other,
                     struct elf_altlink *link)
{
    struct cursor c;

    return find_altlink(f, ".debug_sup", &c) && cursor_16(&c) == SUP_VERSION &&
           cursor_8(&c) == is_other && take_path(&c, link) &&
           take_id(&c, cursor_uleb(&c), link);
}

bool elf_altlink_read(const uint8_t *data, size_t size,
                      struct elf_altlink *link)
{
    struct elf_file f;
    struct cursor c;

    if (elf_file_open(&f, data, size) != NULL) {
        return false;
    }
    if (find_altlink(&f, ".gnu_debugaltlink", &c)) {
        return take_path(&c, link) && link->path[0] != '\0' &&
               take_id(&c, (uint64_t)(c.end - c.at), link);
    }
    return read_sup(&f, false, link) && link->path[0] != '\0';
}

bool elf_altlink_own_id(const uint8_t *data, size_t size,
                        struct elf_altlink *link)
{
    struct elf_file f;

    return elf_file_open(&f, data, size) == NULL && elf_altlink_own(&f, link);
}

bool elf_altlink_own(const struct elf_file *file, struct elf_altlink *link)
{
    return read_sup(file, true, link);
}
