/*
 * Copyright (C) the ngx_symcache authors
 */
#include "file.h"

#include <string.h>

#include "base/byte_order.h"
#include "base/utf8.h"
#include "dynamic.h"

#define IDENT 16
#define MAGIC "\177ELF"
#define AT_CLASS 4
#define AT_DATA 5
#define PT_LOAD 1
#define PT_INTERP 3
#define PT_NOTE 4
#define PT_SCE_DYNLIBDATA 0x61000000 /* of a console */
#define SCE_BUILD_ID 20
#define SHT_GNU_VERDEF 0x6ffffffd
#define SHT_GNU_VERNEED 0x6ffffffe
#define SHT_GNU_VERSYM 0x6fffffff
#define NT_GNU_BUILD_ID 3
#define SHN_XINDEX 0xffff
#define NOTE_HEADER 12

/* Symbol tables, and places of notes, in one file.  Each may be the whole of
 * it, and real files have less than five. */
#define TABLES_MAX 16

/* Are these bytes of the file inside of it? */
static bool has(const struct elf_file *f, uint64_t offset, uint64_t size)
{
    return offset <= f->size && size <= f->size - offset;
}

/* The same, for a place that must not be the end of the file, even if nothing
 * is read there. */
static bool has_at(const struct elf_file *f, uint64_t offset, uint64_t size)
{
    return offset < f->size && has(f, offset, size);
}

static uint64_t word(const struct elf_file *f, const uint8_t *p)
{
    return f->is_64 ? byte_order_64(p, f->is_big) : byte_order_32(p, f->is_big);
}

static size_t section_size(const struct elf_file *f)
{
    return f->is_64 ? 64 : 40;
}

static size_t segment_size(const struct elf_file *f)
{
    return f->is_64 ? 56 : 32;
}

static size_t symbol_size(const struct elf_file *f)
{
    return f->is_64 ? 24 : 16;
}

struct elf_segment elf_file_segment(const struct elf_file *f, uint32_t i)
{
    bool big = f->is_big;
    struct elf_segment s;
    const uint8_t *p = f->data + f->segments + i * segment_size(f);

    s.type = byte_order_32(p, big);
    if (f->is_64) {
        s.flags = byte_order_32(p + 4, big);
        s.offset = byte_order_64(p + 8, big);
        s.address = byte_order_64(p + 16, big);
        s.file_size = byte_order_64(p + 32, big);
        s.memory_size = byte_order_64(p + 40, big);
        s.align = byte_order_64(p + 48, big);
    } else {
        s.offset = byte_order_32(p + 4, big);
        s.address = byte_order_32(p + 8, big);
        s.file_size = byte_order_32(p + 16, big);
        s.memory_size = byte_order_32(p + 20, big);
        s.flags = byte_order_32(p + 24, big);
        s.align = byte_order_32(p + 28, big);
    }
    return s;
}

struct elf_section elf_file_section_header(const struct elf_file *f,
                                           uint64_t i)
{
    bool big = f->is_big;
    size_t w = f->is_64 ? 8 : 4;
    struct elf_section s;
    const uint8_t *p = f->data + f->sections + i * section_size(f);

    s.name = byte_order_32(p, big);
    s.type = byte_order_32(p + 4, big);
    s.flags = word(f, p + 8);
    s.address = word(f, p + 8 + w);
    s.offset = word(f, p + 8 + 2 * w);
    s.size = word(f, p + 8 + 3 * w);
    s.link = byte_order_32(p + 8 + 4 * w, big);
    s.align = word(f, p + 16 + 4 * w);
    s.entry_size = word(f, p + 16 + 5 * w);
    return s;
}

struct elf_symbol elf_file_symbol(const struct elf_file *f,
                                  const struct elf_symbols *table, uint64_t i)
{
    bool big = f->is_big;
    struct elf_symbol s;
    const uint8_t *p = f->data + table->offset + i * symbol_size(f);

    s.name = byte_order_32(p, big);
    if (f->is_64) {
        s.type = p[4] & 15;
        s.section = byte_order_16(p + 6, big);
        s.address = byte_order_64(p + 8, big);
        s.size = byte_order_64(p + 16, big);
    } else {
        s.address = byte_order_32(p + 4, big);
        s.size = byte_order_32(p + 8, big);
        s.type = p[12] & 15;
        s.section = byte_order_16(p + 14, big);
    }
    return s;
}

bool elf_strings_get(const struct elf_strings *strings, uint64_t offset,
                     const char **text, size_t *size)
{
    const char *end, *at;

    if (strings->size == 0 || offset > strings->size ||
        (offset == strings->size && strings->data[offset - 1] == '\0')) {
        return false;
    }
    at = strings->data + offset;
    *text = at;
    *size = strings->size - offset;
    if (*size == 0) {
        return true;
    }
    if (((uint8_t)*at & 0xC0) == 0x80) {
        return false;
    }
    end = memchr(at, '\0', *size);
    *size = end == NULL ? *size : (size_t)(end - at);
    return true;
}

/* reading, in the order of the reference ---------------------------------- */

static const char *open_header(struct elf_file *f)
{
    bool big;
    size_t w;
    const uint8_t *p = f->data;

    if (f->size < IDENT || memcmp(p, MAGIC, sizeof(MAGIC) - 1) != 0) {
        return "is not an ELF file";
    }
    if (p[AT_CLASS] < 1 || p[AT_CLASS] > 2 || p[AT_DATA] < 1 ||
        p[AT_DATA] > 2) {
        return "is damaged: class and byte order of its ELF header are "
               "unknown";
    }
    f->is_64 = p[AT_CLASS] == 2;
    f->is_big = big = p[AT_DATA] == 2;
    if (f->size < (f->is_64 ? 64 : 52)) {
        return "is damaged: its ELF header is cut off";
    }
    w = f->is_64 ? 8 : 4;
    f->type = byte_order_16(p + 16, big);
    f->machine = byte_order_16(p + 18, big);
    f->segments = word(f, p + 24 + w);
    f->sections = word(f, p + 24 + 2 * w);
    p += 24 + 3 * w;
    f->flags = byte_order_32(p, big);
    f->num_segments = byte_order_16(p + 8, big);
    f->num_sections = byte_order_16(p + 12, big);
    return NULL;
}

/* A count of sections that does not fit into the header is in the first
 * section. */
static const char *open_sections(struct elf_file *f)
{
    size_t size = section_size(f);

    if (f->sections == 0) {
        f->num_sections = 0;
        return NULL;
    }
    if (!has(f, f->sections, size)) {
        return "is damaged: it ends before its section headers";
    }
    if (f->num_sections == 0) {
        f->num_sections = elf_file_section_header(f, 0).size;
    }
    if (f->num_sections > f->size / size ||
        !has(f, f->sections, f->num_sections * size)) {
        return "is damaged: it ends before the last of its section headers";
    }
    f->num_sections += f->num_sections == 0;
    return NULL;
}

static const char *open_segments(struct elf_file *f)
{
    uint32_t i;
    struct elf_segment s;
    uint64_t size = (uint64_t)f->num_segments * segment_size(f);

    if (size > 0 && !has(f, f->segments, size)) {
        return "is damaged: it ends before the last of its program headers";
    }
    for (i = 0; i < f->num_segments; i++) {
        s = elf_file_segment(f, i);
        if (s.type == PT_INTERP && s.file_size > 0) {
            f->has_interpreter =
                has_at(f, s.offset, s.file_size - 1) &&
                utf8_valid(f->data + s.offset, s.file_size - 1) ==
                    s.file_size - 1;
        }
    }
    return NULL;
}

bool elf_file_strings(const struct elf_file *f, uint64_t offset, uint64_t size,
                      struct elf_strings *strings)
{
    if (!has(f, offset, size) ||
        utf8_valid(f->data + offset, (size_t)size) != size) {
        return false;
    }
    strings->data = (const char *)f->data + offset;
    strings->size = (size_t)size;
    return true;
}

bool elf_file_symbols(const struct elf_file *f, uint64_t offset,
                      uint64_t count, struct elf_symbols *symbols)
{
    if (offset >= f->size || count > f->size / symbol_size(f) ||
        !has(f, offset, count * symbol_size(f))) {
        return false;
    }
    symbols->offset = offset;
    symbols->count = count;
    return true;
}

static bool is_sound(const struct elf_file *f, const struct elf_section *s)
{
    return s->type == ELF_SHT_NOBITS || s->size == 0 ||
           (has(f, s->offset, s->size) && s->address <= UINT64_MAX - s->size);
}

/* Finds a section with strings.  A number beyond the last stands for an empty
 * table; one that does not fit into the header is in the first section. */
static bool find_strings(const struct elf_file *f, uint64_t number,
                         struct elf_section *section)
{
    if (number == SHN_XINDEX && f->num_sections > 0) {
        number = elf_file_section_header(f, 0).link;
    }
    if (number >= f->num_sections) {
        return false;
    }
    *section = elf_file_section_header(f, number);
    return true;
}

static bool open_strings(const struct elf_file *f, uint64_t number,
                         struct elf_strings *strings)
{
    struct elf_section s;

    if (!find_strings(f, number, &s)) {
        strings->size = 0;
        return true;
    }
    return is_sound(f, &s) && elf_file_strings(f, s.offset, s.size, strings);
}

/* A single name that is not UTF-8 makes all names unavailable to code that
 * follows the reference, but not to lookups of one section. */
static bool open_names(struct elf_file *f, uint64_t number)
{
    struct elf_section s;

    if (find_strings(f, number, &s) && has(f, s.offset, s.size)) {
        f->all_names.data = (const char *)f->data + s.offset;
        f->all_names.size = (size_t)s.size;
    }
    return open_strings(f, number, &f->section_names);
}

static bool open_symbols(const struct elf_file *f, const struct elf_section *s,
                         struct elf_symbols *symbols)
{
    return elf_file_symbols(f, s->offset,
                            s->entry_size == 0 ? 0 : s->size / s->entry_size,
                            symbols) &&
           open_strings(f, s->link, &symbols->names);
}

/* The last table counts. */
static bool open_symtab(struct elf_file *f)
{
    unsigned tables = 0;
    uint64_t i;
    struct elf_section s;

    for (i = 0; i < f->num_sections; i++) {
        s = elf_file_section_header(f, i);
        if (s.type == ELF_SHT_SYMTAB &&
            (++tables > TABLES_MAX || !open_symbols(f, &s, &f->symtab))) {
            return false;
        }
    }
    return true;
}

static bool find_type(const struct elf_file *f, uint32_t type,
                      struct elf_section *section)
{
    uint64_t i;

    for (i = 0; i < f->num_sections; i++) {
        *section = elf_file_section_header(f, i);
        if (section->type == type) {
            return true;
        }
    }
    return false;
}

static bool open_dynsym(struct elf_file *f)
{
    struct elf_section s;

    if (!elf_dynamic_open(f)) {
        return false;
    }
    return f->dynsym.count > 0 || !find_type(f, ELF_SHT_DYNSYM, &s) ||
           open_symbols(f, &s, &f->dynsym);
}

/* Of relocations and versions nothing is used, but they must be there. */
static bool check_others(const struct elf_file *f)
{
    uint64_t i;
    struct elf_section s;
    static const uint32_t versions[] = {SHT_GNU_VERSYM, SHT_GNU_VERDEF,
                                        SHT_GNU_VERNEED};

    for (i = 0; i < f->num_sections; i++) {
        s = elf_file_section_header(f, i);
        if ((s.type == ELF_SHT_REL || s.type == ELF_SHT_RELA) &&
            (!is_sound(f, &s) || !has(f, s.size == 0 ? 0 : s.offset, s.size))) {
            return false;
        }
    }
    for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        if (find_type(f, versions[i], &s) && !has_at(f, s.offset, s.size)) {
            return false;
        }
    }
    return true;
}

const char *elf_file_open(struct elf_file *f, const uint8_t *data, size_t size)
{
    const char *wrong;
    uint16_t names;

    memset(f, 0, sizeof(*f));
    f->data = data;
    f->size = size;
    if ((wrong = open_header(f)) != NULL ||
        (wrong = open_segments(f)) != NULL ||
        (wrong = open_sections(f)) != NULL) {
        return wrong;
    }
    names = byte_order_16(data + (f->is_64 ? 62 : 50), f->is_big);
    f->is_malformed = !open_names(f, names) ||
                      !open_symtab(f) || !open_dynsym(f) || !check_others(f);
    return NULL;
}

/* finding parts ----------------------------------------------------------- */

/* Compares no more than the name: others may be as long as the file. */
static bool is_named(const struct elf_strings *names,
                     const struct elf_section *s, const char *prefix,
                     const char *name)
{
    size_t n = strlen(prefix), size = n + strlen(name), left;
    const char *at;

    if (s->name >= names->size) {
        return false;
    }
    at = names->data + s->name;
    left = names->size - s->name;
    return size <= left && memcmp(at, prefix, n) == 0 &&
           memcmp(at + n, name, size - n) == 0 &&
           (size == left || at[size] == '\0');
}

struct dwarf_found elf_file_find_next(const struct elf_file *f,
                                      const char *name, uint64_t *number)
{
    uint64_t i;
    bool is_old;
    struct dwarf_found found = {.is_compressed = false};
    struct elf_section s;

    for (i = *number; i < f->num_sections; i++) {
        s = elf_file_section_header(f, i);
        if (s.type == ELF_SHT_NOBITS || s.offset == 0) {
            continue;
        }
        is_old = is_named(&f->section_names, &s, ".z", name);
        /* a name that begins with z is only found after ".z" */
        if (!is_old && (name[0] == 'z' ||
                        !is_named(&f->section_names, &s, ".", name))) {
            continue;
        }
        *number = i + 1;
        if (has(f, s.offset, s.size)) {
            found.section.data = f->data + s.offset;
            found.section.size = (size_t)s.size;
            found.is_compressed = is_old || s.flags & ELF_SHF_COMPRESSED;
            found.address = s.address;
        }
        break;
    }
    return found;
}

struct dwarf_found elf_file_find(const struct elf_file *f, const char *name)
{
    uint64_t number = 0;

    return elf_file_find_next(f, name, &number);
}

bool elf_file_find_named(const struct elf_file *f, const char *name,
                         struct elf_section *section)
{
    uint64_t i;

    for (i = 0; i < f->num_sections; i++) {
        *section = elf_file_section_header(f, i);
        if (is_named(&f->all_names, section, name, "")) {
            return true;
        }
    }
    return false;
}

uint64_t elf_file_load_address(const struct elf_file *f)
{
    uint32_t i;
    struct elf_segment s;

    for (i = 0; i < f->num_segments; i++) {
        s = elf_file_segment(f, i);
        if (s.type == PT_LOAD) {
            return s.address;
        }
    }
    return 0;
}

bool elf_file_is_low(const struct elf_file *f)
{
    uint32_t i;
    struct elf_segment s;

    for (i = 0; i < f->num_segments; i++) {
        s = elf_file_segment(f, i);
        if (s.type == PT_LOAD && s.address > UINT32_MAX) {
            return false;
        }
    }
    return true;
}

/* build id ---------------------------------------------------------------- */

static uint64_t align(uint64_t n, uint64_t alignment)
{
    return (n + alignment - 1) & ~(alignment - 1);
}

/*
 * Looks for the first note of the type of build ids, whoever is its owner.
 * Returns 1 with it, 0 if there is none, or -1 if the notes are damaged.
 */
static int find_note(const struct elf_file *f, uint64_t at, uint64_t size,
                     uint64_t alignment, struct elf_bytes *id)
{
    const uint8_t *p;
    uint64_t name, desc, begin;
    uint64_t end = size > UINT64_MAX - at ? UINT64_MAX : at + size;

    alignment = alignment < 4 ? 4 : alignment;
    while (at < end) {
        if ((alignment != 4 && alignment != 8) || !has(f, at, NOTE_HEADER)) {
            return -1;
        }
        p = f->data + at;
        name = byte_order_32(p, f->is_big);
        desc = byte_order_32(p + 4, f->is_big);
        begin = align(NOTE_HEADER + name, alignment);
        name -= name > 0;
        if (!has_at(f, at + NOTE_HEADER, name) ||
            !has_at(f, at + begin, desc) ||
            utf8_valid(p + NOTE_HEADER, (size_t)name) != name) {
            return -1;
        }
        if (byte_order_32(p + 8, f->is_big) == NT_GNU_BUILD_ID) {
            id->data = p + begin;
            id->size = (size_t)desc;
            return 1;
        }
        at += align(begin + desc, alignment);
    }
    return 0;
}

static bool find_in_segments(const struct elf_file *f, struct elf_bytes *id)
{
    int rc;
    uint32_t i;
    unsigned places = 0;
    struct elf_segment s;

    for (i = 0, rc = 0; rc == 0 && i < f->num_segments; i++) {
        s = elf_file_segment(f, i);
        if (s.type == PT_NOTE && places++ < TABLES_MAX) {
            rc = find_note(f, s.offset, s.file_size, s.align, id);
        }
    }
    return rc > 0;
}

static bool find_in_sections(const struct elf_file *f, struct elf_bytes *id)
{
    int rc;
    uint64_t i;
    unsigned places = 0;
    struct elf_section s;

    for (i = 0, rc = 0; rc == 0 && i < f->num_sections; i++) {
        s = elf_file_section_header(f, i);
        if (s.type == ELF_SHT_NOTE && places < TABLES_MAX &&
            is_named(&f->section_names, &s, ".note.gnu.build-id", "")) {
            places++;
            rc = find_note(f, s.offset, s.size, s.align, id);
        }
    }
    return rc > 0;
}

struct elf_bytes elf_file_build_id(const struct elf_file *f)
{
    uint32_t i;
    struct elf_bytes id = {NULL, 0};
    struct elf_segment s;

    if (find_in_segments(f, &id) || find_in_sections(f, &id)) {
        return id;
    }
    for (i = 0; i < f->num_segments; i++) {
        s = elf_file_segment(f, i);
        if (s.type == PT_SCE_DYNLIBDATA && s.file_size >= SCE_BUILD_ID) {
            if (has(f, s.offset, SCE_BUILD_ID)) {
                id.data = f->data + s.offset;
                id.size = SCE_BUILD_ID;
            }
            break;
        }
    }
    return id;
}

bool elf_file_is_cut(const struct elf_file *f)
{
    struct elf_section section;
    uint64_t i;

    for (i = 0; i < f->num_sections; i++) {
        section = elf_file_section_header(f, i);
        if (section.type != ELF_SHT_NOBITS && section.type != 0 &&
            !has(f, section.offset, section.size)) {
            return true;
        }
    }
    return f->is_malformed && f->all_names.size == f->section_names.size;
}

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
