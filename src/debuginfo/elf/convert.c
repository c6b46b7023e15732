/*
 * Copyright (C) the ngx_symcache authors
 */
#include "convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"
#include "debuginfo/dwarf/dwarf.h"
#include "file.h"
#include "identity.h"
#include "inflate.h"
#include "symcache/symcache.h"

#define STT_FUNC 2

struct conversion {
    struct elf_file file;
    struct failure *failure;
    struct dwarf_object object;
    uint8_t *inflated[DWARF_SECTIONS];
    uint64_t load_address;
    struct dwarf_symbol *symbols;
    struct symfile_writer writer;
};

/* sections -------------------------------------------------------------------
 */

static int take_section(struct conversion *c, enum dwarf_section_name name)
{
    int rc;
    bool is_compressed = false;
    struct elf_bytes bytes, inflated;
    struct dwarf_section *s = &c->object.sections[name];

    bytes = elf_file_find(&c->file, dwarf_section_title(name), &is_compressed);
    if (bytes.data == NULL) {
        return 0;
    }
    if (is_compressed) {
        rc = elf_inflate(&c->file, &bytes, &inflated);
        if (rc < 0) {
            return failure_memory(c->failure);
        }
        if (rc == 0) {
            return 0;
        }
        c->inflated[name] = (uint8_t *)(uintptr_t)inflated.data;
        bytes = inflated;
    }
    s->data = bytes.data;
    s->size = bytes.size;
    return 0;
}

/* symbols --------------------------------------------------------------------
 */

/* Reads a symbol of a table, if it is that of a function. */
static bool read_symbol(const struct conversion *c,
                        const struct elf_symbols *table, uint64_t i,
                        struct elf_symbol *s)
{
    struct elf_section section;
    const uint64_t code = ELF_SHF_ALLOC | ELF_SHF_EXECINSTR;

    *s = elf_file_symbol(&c->file, table, i);
    if (s->type != STT_FUNC || s->address < c->load_address ||
        s->section == 0 || s->section >= c->file.num_sections) {
        return false;
    }
    section = elf_file_section(&c->file, s->section);
    s->address -= c->load_address;
    return (section.flags & code) == code;
}

static const char *symbol_name(const struct elf_symbols *table,
                               const struct elf_symbol *s, uint32_t *size)
{
    size_t n;
    const char *text;

    if (!elf_strings_get(&table->names, s->name, &text, &n) ||
        n > UINT32_MAX) {
        return NULL;
    }
    *size = (uint32_t)n;
    return text;
}

/* Collects the addresses of functions, each with the number of its symbol in
 * the low half.  A SymCache has no functions beyond 32 bits. */
static size_t collect(const struct conversion *c, uint64_t *keys)
{
    size_t n = 0;
    uint64_t i, number = 0;
    struct elf_symbol s;
    const struct elf_symbols *table;
    const struct elf_symbols *const tables[] = {&c->file.symtab,
                                                &c->file.dynsym};
    unsigned t;

    for (t = 0; t < 2; t++) {
        table = tables[t];
        for (i = 0; i < table->count; i++, number++) {
            if (read_symbol(c, table, i, &s) && s.address <= UINT32_MAX) {
                keys[n++] = s.address << 32 | number;
            }
        }
    }
    return n;
}

/* Makes the list by which functions are named: of several symbols at one
 * address, the first. */
static int sort_symbols(struct conversion *c)
{
    size_t i, n, out = 0;
    uint64_t total = c->file.symtab.count + c->file.dynsym.count, number;
    uint64_t *keys;
    struct elf_symbol s;
    struct dwarf_symbol *to;
    const struct elf_symbols *table;

    if (total > UINT32_MAX) {
        return failure_memory(c->failure);
    }
    keys = malloc((2 * (size_t)total + 1) * sizeof(*keys));
    c->symbols = malloc(((size_t)total + 1) * sizeof(*c->symbols));
    if (keys == NULL || c->symbols == NULL) {
        free(keys);
        return failure_memory(c->failure);
    }
    n = collect(c, keys);
    symfile_sort(keys, keys + n, n);
    for (i = 0; i < n; i++) {
        if (out > 0 && c->symbols[out - 1].address == keys[i] >> 32) {
            continue;
        }
        number = (uint32_t)keys[i];
        table = number < c->file.symtab.count ? &c->file.symtab
                                              : &c->file.dynsym;
        number -= table == &c->file.dynsym ? c->file.symtab.count : 0;
        (void)read_symbol(c, table, number, &s);
        to = &c->symbols[out++];
        to->address = s.address;
        to->name_size = 0;
        to->name = symbol_name(table, &s, &to->name_size);
    }
    free(keys);
    c->object.symbols = c->symbols;
    c->object.num_symbols = out;
    return 0;
}

static int write_symbols(struct conversion *c, const struct elf_symbols *table)
{
    uint64_t i;
    struct elf_symbol s;
    struct symfile_name name;
    enum symfile_status status;

    for (i = 0; i < table->count; i++) {
        if (!read_symbol(c, table, i, &s)) {
            continue;
        }
        memset(&name, 0, sizeof(name));
        name.data = symbol_name(table, &s, &name.size);
        if (name.data == NULL) {
            continue;
        }
        status = symfile_writer_symbol(&c->writer, s.address, s.size, &name);
        if (status != SYMFILE_OK) {
            return failure_writer(c->failure, status);
        }
    }
    return 0;
}

/* the file -------------------------------------------------------------------
 */

static int write_functions(struct conversion *c)
{
    unsigned i;

    for (i = 0; i < DWARF_SECTIONS; i++) {
        if (take_section(c, (enum dwarf_section_name)i) != 0) {
            return -1;
        }
    }
    if (c->object.sections[DWARF_INFO].size == 0) {
        return 0;
    }
    c->object.is_big = c->file.is_big;
    c->object.is_relocatable = c->file.type == ELF_REL;
    c->object.load_address = c->load_address;
    return sort_symbols(c) != 0
               ? -1
               : dwarf_convert(&c->object, &c->writer, c->failure);
}

static int convert(const uint8_t *data, size_t size,
                   const struct symfile_sink *sink,
                   struct debuginfo_result *result, struct failure *failure)
{
    int rc;
    unsigned i;
    char error[200];
    struct elf_identity identity;
    struct symfile_identity written;
    struct conversion c;

    if (elf_identity_read(data, size, &identity, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    memset(&c, 0, sizeof(c));
    c.failure = failure;
    (void)elf_file_open(&c.file, data, size);
    c.load_address = elf_file_load_address(&c.file);
    symfile_writer_init(&c.writer);
    memcpy(written.guid, identity.guid, sizeof(written.guid));
    written.age = 0;
    written.arch = identity.arch;
    rc = write_functions(&c) != 0 || write_symbols(&c, &c.file.symtab) != 0 ||
                 write_symbols(&c, &c.file.dynsym) != 0
             ? -1
             : format_finish(&c.writer, &written, sink, result, failure);
    symfile_writer_free(&c.writer);
    free(c.symbols);
    for (i = 0; i < DWARF_SECTIONS; i++) {
        free(c.inflated[i]);
    }
    return rc;
}

const struct debuginfo_format elf_format = {
    .name = "ELF",
    .output = DEBUGINFO_SYMCACHE,
    .sniff = elf_sniff,
    .convert = convert,
};
