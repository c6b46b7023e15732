/*
 * Copyright (C) the ngx_symcache authors
 */
#include "dynamic.h"

#include "base/byte_order.h"

#define PT_LOAD 1
#define PT_DYNAMIC 2
#define EM_S390 22
#define EM_ALPHA 0x9026

enum {
    DT_NULL = 0,
    DT_PLTRELSZ = 2,
    DT_HASH = 4,
    DT_STRTAB = 5,
    DT_SYMTAB = 6,
    DT_RELA = 7,
    DT_RELASZ = 8,
    DT_STRSZ = 10,
    DT_REL = 17,
    DT_RELSZ = 18,
    DT_PLTREL = 20,
    DT_JMPREL = 23,
    DT_GNU_HASH = 0x6ffffef5
};

/* Relocations, which name symbols. */
struct relocations {
    uint64_t offset;
    uint64_t size;
};

/* The values of the dynamic array.  Addresses have become offsets in the
 * file. */
struct dynamic {
    uint64_t strings;
    uint64_t strings_size;
    uint64_t symbols;
    uint64_t hash;     /* 0: none */
    uint64_t gnu_hash; /* 0: none */
    bool has_hash;
    bool has_gnu_hash;
    uint64_t plt_form; /* DT_RELA or DT_REL */
    struct relocations rela;
    struct relocations rel;
    struct relocations plt;
};

static bool dynamic_has_bytes(const struct elf_file *f, uint64_t offset,
                              uint64_t size)
{
    return offset <= f->size && size <= f->size - offset;
}

/* Finds where in the file an address is.  Returns false if it is nowhere. */
static bool dynamic_to_offset(const struct elf_file *f, uint64_t address,
                              uint64_t *offset)
{
    uint32_t i;
    struct elf_segment s;

    for (i = 0; i < f->num_segments; i++) {
        s = elf_file_segment(f, i);
        if (s.type == PT_LOAD && address >= s.address &&
            address - s.address < s.memory_size) {
            *offset = s.offset + (address - s.address);
            return *offset >= s.offset;
        }
    }
    *offset = 0;
    return false;
}

static void dynamic_take_entry(const struct elf_file *f,
                               struct dynamic *dynamic, uint64_t tag,
                               uint64_t value)
{
    switch (tag) {
    case DT_PLTRELSZ:
        dynamic->plt.size = value;
        break;
    case DT_HASH:
        dynamic->has_hash = dynamic_to_offset(f, value, &dynamic->hash);
        break;
    case DT_STRTAB:
        (void)dynamic_to_offset(f, value, &dynamic->strings);
        break;
    case DT_SYMTAB:
        (void)dynamic_to_offset(f, value, &dynamic->symbols);
        break;
    case DT_RELA:
        (void)dynamic_to_offset(f, value, &dynamic->rela.offset);
        break;
    case DT_RELASZ:
        dynamic->rela.size = value;
        break;
    case DT_STRSZ:
        dynamic->strings_size = value;
        break;
    case DT_REL:
        (void)dynamic_to_offset(f, value, &dynamic->rel.offset);
        break;
    case DT_RELSZ:
        dynamic->rel.size = value;
        break;
    case DT_PLTREL:
        dynamic->plt_form = value;
        break;
    case DT_JMPREL:
        (void)dynamic_to_offset(f, value, &dynamic->plt.offset);
        break;
    case DT_GNU_HASH:
        dynamic->has_gnu_hash =
            dynamic_to_offset(f, value, &dynamic->gnu_hash);
        break;
    default:
        break;
    }
}

static uint64_t dynamic_read_word(const struct elf_file *f, uint64_t offset)
{
    const uint8_t *p = f->data + offset;

    return f->is_64 ? byte_order_64(p, f->is_big)
                    : byte_order_32(p, f->is_big);
}

/* Reads a number of 32 bits.  Returns false at the end of the file. */
static bool dynamic_read_value(const struct elf_file *f, uint64_t offset,
                               uint32_t *value)
{
    if (!dynamic_has_bytes(f, offset, 4)) {
        return false;
    }
    *value = byte_order_32(f->data + offset, f->is_big);
    return true;
}

/* Counts the symbols by the hash table of GNU: the last chain of the highest
 * bucket ends at the last symbol. */
static bool dynamic_count_gnu_hash(const struct elf_file *f, uint64_t at,
                                   uint64_t *count)
{
    uint64_t i, last = 0;
    uint32_t buckets, first, bloom, value;

    if (!dynamic_read_value(f, at, &buckets) ||
        !dynamic_read_value(f, at + 4, &first) ||
        !dynamic_read_value(f, at + 8, &bloom) || buckets == 0 || first == 0 ||
        bloom == 0) {
        return false;
    }
    at += 16 + (uint64_t)bloom * (f->is_64 ? 8 : 4);
    for (i = 0; i < buckets; i++, at += 4) {
        if (!dynamic_read_value(f, at, &value)) {
            return false;
        }
        last = value > last ? value : last;
    }
    *count = 0;
    if (last < first) {
        return true;
    }
    for (at += 4 * (last - first); dynamic_read_value(f, at, &value);
         at += 4) {
        last++;
        if (value & 1) {
            *count = last;
            return true;
        }
    }
    return false;
}

static bool dynamic_count_hash(const struct elf_file *f, uint64_t at,
                               uint64_t *count)
{
    uint32_t value;

    at = at > UINT64_MAX - 4 ? UINT64_MAX : at + 4;
    if (f->is_64 && (f->machine == EM_S390 || f->machine == EM_ALPHA)) {
        *count = dynamic_has_bytes(f, at, 8) ? dynamic_read_word(f, at) : 0;
        return dynamic_has_bytes(f, at, 8);
    }
    if (!dynamic_read_value(f, at, &value)) {
        return false;
    }
    *count = value;
    return true;
}

/* Raises the count to that of the symbols that relocations name.  Returns
 * false if they are not inside of the file. */
static bool dynamic_count_relocations(const struct elf_file *f,
                                      const struct relocations *r,
                                      bool is_rela, uint64_t *count)
{
    uint64_t i, n, symbol;
    size_t w = f->is_64 ? 8 : 4, step = is_rela ? 3 * w : 2 * w;

    if (r->size == 0) {
        return true;
    }
    if (!dynamic_has_bytes(f, r->offset, r->size)) {
        return false;
    }
    n = r->size / step;
    for (i = 0; i < n; i++) {
        symbol = dynamic_read_word(f, r->offset + i * step + w) >>
                 (f->is_64 ? 32 : 8);
        if (symbol != 0 && symbol + 1 > *count) {
            *count = symbol + 1;
        }
    }
    return true;
}

static bool dynamic_take_symbols(struct elf_file *f,
                                 const struct dynamic *dynamic)
{
    uint64_t count = 0, needed = 0;

    if (!elf_file_strings(f, dynamic->strings, dynamic->strings_size,
                          &f->dynsym.names)) {
        return false;
    }
    if (!dynamic_count_relocations(f, &dynamic->rela, true, &needed) ||
        !dynamic_count_relocations(f, &dynamic->rel, false, &needed) ||
        !dynamic_count_relocations(f, &dynamic->plt,
                                   dynamic->plt_form == DT_RELA, &needed)) {
        return false;
    }
    if (dynamic->has_gnu_hash
            ? !dynamic_count_gnu_hash(f, dynamic->gnu_hash, &count)
            : dynamic->has_hash &&
                  !dynamic_count_hash(f, dynamic->hash, &count)) {
        return false;
    }
    return elf_file_symbols(f, dynamic->symbols,
                            count > needed ? count : needed, &f->dynsym);
}

bool elf_dynamic_open(struct elf_file *f)
{
    uint32_t i;
    uint64_t at, end, tag;
    size_t w = f->is_64 ? 8 : 4;
    struct elf_segment s;
    struct dynamic dynamic = {.strings = 0};

    for (i = 0; i < f->num_segments; i++) {
        s = elf_file_segment(f, i);
        if (s.type == PT_DYNAMIC) {
            break;
        }
    }
    if (i == f->num_segments) {
        return true;
    }
    if (s.file_size > 0 && !dynamic_has_bytes(f, s.offset, s.file_size)) {
        return false;
    }
    end = s.offset + s.file_size / (2 * w) * (2 * w);
    for (at = s.offset; at < end; at += 2 * w) {
        tag = dynamic_read_word(f, at);
        if (tag == DT_NULL) {
            break;
        }
        dynamic_take_entry(f, &dynamic, tag, dynamic_read_word(f, at + w));
    }
    return dynamic_take_symbols(f, &dynamic);
}
