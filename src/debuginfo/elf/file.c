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
static bool has(const struct elf_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

/* The same, for a place that must not be the end of the file, even if nothing
 * is read there. */
static bool has_at(const struct elf_file *file, uint64_t offset, uint64_t size)
{
    return offset < file->size && has(file, offset, size);
}

static uint64_t word(const struct elf_file *file, const uint8_t *p)
{
    return file->is_64 ? byte_order_64(p, file->is_big)
                       : byte_order_32(p, file->is_big);
}

static size_t section_size(const struct elf_file *file)
{
    return file->is_64 ? 64 : 40;
}

static size_t segment_size(const struct elf_file *file)
{
    return file->is_64 ? 56 : 32;
}

static size_t symbol_size(const struct elf_file *file)
{
    return file->is_64 ? 24 : 16;
}

struct elf_segment elf_file_segment(const struct elf_file *file, uint32_t i)
{
    bool big = file->is_big;
    struct elf_segment s;
    const uint8_t *p = file->data + file->segments + i * segment_size(file);

    s.type = byte_order_32(p, big);
    if (file->is_64) {
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

struct elf_section elf_file_section_header(const struct elf_file *file,
                                           uint64_t i)
{
    bool big = file->is_big;
    size_t w = file->is_64 ? 8 : 4;
    struct elf_section s;
    const uint8_t *p = file->data + file->sections + i * section_size(file);

    s.name = byte_order_32(p, big);
    s.type = byte_order_32(p + 4, big);
    s.flags = word(file, p + 8);
    s.address = word(file, p + 8 + w);
    s.offset = word(file, p + 8 + 2 * w);
    s.size = word(file, p + 8 + 3 * w);
    s.link = byte_order_32(p + 8 + 4 * w, big);
    s.align = word(file, p + 16 + 4 * w);
    s.entry_size = word(file, p + 16 + 5 * w);
    return s;
}

struct elf_symbol elf_file_symbol(const struct elf_file *file,
                                  const struct elf_symbols *table, uint64_t i)
{
    bool big = file->is_big;
    struct elf_symbol s;
    const uint8_t *p = file->data + table->offset + i * symbol_size(file);

    s.name = byte_order_32(p, big);
    if (file->is_64) {
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

static const char *open_header(struct elf_file *file)
{
    bool big;
    size_t w;
    const uint8_t *p = file->data;

    if (file->size < IDENT || memcmp(p, MAGIC, sizeof(MAGIC) - 1) != 0) {
        return "is not an ELF file";
    }
    if (p[AT_CLASS] < 1 || p[AT_CLASS] > 2 || p[AT_DATA] < 1 ||
        p[AT_DATA] > 2) {
        return "is damaged: class and byte order of its ELF header are "
               "unknown";
    }
    file->is_64 = p[AT_CLASS] == 2;
    file->is_big = big = p[AT_DATA] == 2;
    if (file->size < (file->is_64 ? 64 : 52)) {
        return "is damaged: its ELF header is cut off";
    }
    w = file->is_64 ? 8 : 4;
    file->type = byte_order_16(p + 16, big);
    file->machine = byte_order_16(p + 18, big);
    file->segments = word(file, p + 24 + w);
    file->sections = word(file, p + 24 + 2 * w);
    p += 24 + 3 * w;
    file->flags = byte_order_32(p, big);
    file->num_segments = byte_order_16(p + 8, big);
    file->num_sections = byte_order_16(p + 12, big);
    return NULL;
}

/* A count of sections that does not fit into the header is in the first
 * section. */
static const char *open_sections(struct elf_file *file)
{
    size_t size = section_size(file);

    if (file->sections == 0) {
        file->num_sections = 0;
        return NULL;
    }
    if (!has(file, file->sections, size)) {
        return "is damaged: it ends before its section headers";
    }
    if (file->num_sections == 0) {
        file->num_sections = elf_file_section_header(file, 0).size;
    }
    if (file->num_sections > file->size / size ||
        !has(file, file->sections, file->num_sections * size)) {
        return "is damaged: it ends before the last of its section headers";
    }
    file->num_sections += file->num_sections == 0;
    return NULL;
}

static const char *open_segments(struct elf_file *file)
{
    uint32_t i;
    struct elf_segment s;
    uint64_t size = (uint64_t)file->num_segments * segment_size(file);

    if (size > 0 && !has(file, file->segments, size)) {
        return "is damaged: it ends before the last of its program headers";
    }
    for (i = 0; i < file->num_segments; i++) {
        s = elf_file_segment(file, i);
        if (s.type == PT_INTERP && s.file_size > 0) {
            file->has_interpreter =
                has_at(file, s.offset, s.file_size - 1) &&
                utf8_valid(file->data + s.offset, s.file_size - 1) ==
                    s.file_size - 1;
        }
    }
    return NULL;
}

bool elf_file_strings(const struct elf_file *file, uint64_t offset,
                      uint64_t size, struct elf_strings *strings)
{
    if (!has(file, offset, size) ||
        utf8_valid(file->data + offset, (size_t)size) != size) {
        return false;
    }
    strings->data = (const char *)file->data + offset;
    strings->size = (size_t)size;
    return true;
}

bool elf_file_symbols(const struct elf_file *file, uint64_t offset,
                      uint64_t count, struct elf_symbols *symbols)
{
    if (offset >= file->size || count > file->size / symbol_size(file) ||
        !has(file, offset, count * symbol_size(file))) {
        return false;
    }
    symbols->offset = offset;
    symbols->count = count;
    return true;
}

static bool is_sound(const struct elf_file *file, const struct elf_section *s)
{
    return s->type == ELF_SHT_NOBITS || s->size == 0 ||
           (has(file, s->offset, s->size) &&
            s->address <= UINT64_MAX - s->size);
}

/* Finds a section with strings.  A number beyond the last stands for an empty
 * table; one that does not fit into the header is in the first section. */
static bool find_strings(const struct elf_file *file, uint64_t number,
                         struct elf_section *section)
{
    if (number == SHN_XINDEX && file->num_sections > 0) {
        number = elf_file_section_header(file, 0).link;
    }
    if (number >= file->num_sections) {
        return false;
    }
    *section = elf_file_section_header(file, number);
    return true;
}

static bool open_strings(const struct elf_file *file, uint64_t number,
                         struct elf_strings *strings)
{
    struct elf_section s;

    if (!find_strings(file, number, &s)) {
        strings->size = 0;
        return true;
    }
    return is_sound(file, &s) &&
           elf_file_strings(file, s.offset, s.size, strings);
}

/* A single name that is not UTF-8 makes all names unavailable to code that
 * follows the reference, but not to lookups of one section. */
static bool open_names(struct elf_file *file, uint64_t number)
{
    struct elf_section s;

    if (find_strings(file, number, &s) && has(file, s.offset, s.size)) {
        file->all_names.data = (const char *)file->data + s.offset;
        file->all_names.size = (size_t)s.size;
    }
    return open_strings(file, number, &file->section_names);
}

static bool open_symbols(const struct elf_file *file,
                         const struct elf_section *s,
                         struct elf_symbols *symbols)
{
    return elf_file_symbols(file, s->offset,
                            s->entry_size == 0 ? 0 : s->size / s->entry_size,
                            symbols) &&
           open_strings(file, s->link, &symbols->names);
}

/* The last table counts. */
static bool open_symtab(struct elf_file *file)
{
    unsigned tables = 0;
    uint64_t i;
    struct elf_section s;

    for (i = 0; i < file->num_sections; i++) {
        s = elf_file_section_header(file, i);
        if (s.type == ELF_SHT_SYMTAB &&
            (++tables > TABLES_MAX ||
             !open_symbols(file, &s, &file->symtab))) {
            return false;
        }
    }
    return true;
}

static bool find_type(const struct elf_file *file, uint32_t type,
                      struct elf_section *section)
{
    uint64_t i;

    for (i = 0; i < file->num_sections; i++) {
        *section = elf_file_section_header(file, i);
        if (section->type == type) {
            return true;
        }
    }
    return false;
}

static bool open_dynsym(struct elf_file *file)
{
    struct elf_section s;

    if (!elf_dynamic_open(file)) {
        return false;
    }
    return file->dynsym.count > 0 || !find_type(file, ELF_SHT_DYNSYM, &s) ||
           open_symbols(file, &s, &file->dynsym);
}

/* Of relocations and versions nothing is used, but they must be there. */
static bool check_others(const struct elf_file *file)
{
    uint64_t i;
    struct elf_section s;
    static const uint32_t versions[] = {SHT_GNU_VERSYM, SHT_GNU_VERDEF,
                                        SHT_GNU_VERNEED};

    for (i = 0; i < file->num_sections; i++) {
        s = elf_file_section_header(file, i);
        if ((s.type == ELF_SHT_REL || s.type == ELF_SHT_RELA) &&
            (!is_sound(file, &s) ||
             !has(file, s.size == 0 ? 0 : s.offset, s.size))) {
            return false;
        }
    }
    for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        if (find_type(file, versions[i], &s) &&
            !has_at(file, s.offset, s.size)) {
            return false;
        }
    }
    return true;
}

const char *elf_file_open(struct elf_file *file, const uint8_t *data,
                          size_t size)
{
    const char *wrong;
    uint16_t names;

    memset(file, 0, sizeof(*file));
    file->data = data;
    file->size = size;
    if ((wrong = open_header(file)) != NULL ||
        (wrong = open_segments(file)) != NULL ||
        (wrong = open_sections(file)) != NULL) {
        return wrong;
    }
    names = byte_order_16(data + (file->is_64 ? 62 : 50), file->is_big);
    file->is_malformed = !open_names(file, names) || !open_symtab(file) ||
                         !open_dynsym(file) || !check_others(file);
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

struct dwarf_found elf_file_find_next(const struct elf_file *file,
                                      const char *name, uint64_t *number)
{
    uint64_t i;
    bool is_old;
    struct dwarf_found found = {.is_compressed = false};
    struct elf_section s;

    for (i = *number; i < file->num_sections; i++) {
        s = elf_file_section_header(file, i);
        if (s.type == ELF_SHT_NOBITS || s.offset == 0) {
            continue;
        }
        is_old = is_named(&file->section_names, &s, ".z", name);
        /* a name that begins with z is only found after ".z" */
        if (!is_old && (name[0] == 'z' ||
                        !is_named(&file->section_names, &s, ".", name))) {
            continue;
        }
        *number = i + 1;
        if (has(file, s.offset, s.size)) {
            found.section.data = file->data + s.offset;
            found.section.size = (size_t)s.size;
            found.is_compressed = is_old || s.flags & ELF_SHF_COMPRESSED;
            found.address = s.address;
        }
        break;
    }
    return found;
}

struct dwarf_found elf_file_find(const struct elf_file *file, const char *name)
{
    uint64_t number = 0;

    return elf_file_find_next(file, name, &number);
}

bool elf_file_find_named(const struct elf_file *file, const char *name,
                         struct elf_section *section)
{
    uint64_t i;

    for (i = 0; i < file->num_sections; i++) {
        *section = elf_file_section_header(file, i);
        if (is_named(&file->all_names, section, name, "")) {
            return true;
        }
    }
    return false;
}

uint64_t elf_file_load_address(const struct elf_file *file)
{
    uint32_t i;
    struct elf_segment s;

    for (i = 0; i < file->num_segments; i++) {
        s = elf_file_segment(file, i);
        if (s.type == PT_LOAD) {
            return s.address;
        }
    }
    return 0;
}

bool elf_file_is_low(const struct elf_file *file)
{
    uint32_t i;
    struct elf_segment s;

    for (i = 0; i < file->num_segments; i++) {
        s = elf_file_segment(file, i);
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
static int find_note(const struct elf_file *file, uint64_t at, uint64_t size,
                     uint64_t alignment, struct elf_bytes *id)
{
    const uint8_t *p;
    uint64_t name, desc, begin;
    uint64_t end = size > UINT64_MAX - at ? UINT64_MAX : at + size;

    alignment = alignment < 4 ? 4 : alignment;
    while (at < end) {
        if ((alignment != 4 && alignment != 8) ||
            !has(file, at, NOTE_HEADER)) {
            return -1;
        }
        p = file->data + at;
        name = byte_order_32(p, file->is_big);
        desc = byte_order_32(p + 4, file->is_big);
        begin = align(NOTE_HEADER + name, alignment);
        name -= name > 0;
        if (!has_at(file, at + NOTE_HEADER, name) ||
            !has_at(file, at + begin, desc) ||
            utf8_valid(p + NOTE_HEADER, (size_t)name) != name) {
            return -1;
        }
        if (byte_order_32(p + 8, file->is_big) == NT_GNU_BUILD_ID) {
            id->data = p + begin;
            id->size = (size_t)desc;
            return 1;
        }
        at += align(begin + desc, alignment);
    }
    return 0;
}

static bool find_in_segments(const struct elf_file *file, struct elf_bytes *id)
{
    int rc;
    uint32_t i;
    unsigned places = 0;
    struct elf_segment s;

    for (i = 0, rc = 0; rc == 0 && i < file->num_segments; i++) {
        s = elf_file_segment(file, i);
        if (s.type == PT_NOTE && places++ < TABLES_MAX) {
            rc = find_note(file, s.offset, s.file_size, s.align, id);
        }
    }
    return rc > 0;
}

static bool find_in_sections(const struct elf_file *file, struct elf_bytes *id)
{
    int rc;
    uint64_t i;
    unsigned places = 0;
    struct elf_section s;

    for (i = 0, rc = 0; rc == 0 && i < file->num_sections; i++) {
        s = elf_file_section_header(file, i);
        if (s.type == ELF_SHT_NOTE && places < TABLES_MAX &&
            is_named(&file->section_names, &s, ".note.gnu.build-id", "")) {
            places++;
            rc = find_note(file, s.offset, s.size, s.align, id);
        }
    }
    return rc > 0;
}

struct elf_bytes elf_file_build_id(const struct elf_file *file)
{
    uint32_t i;
    struct elf_bytes id = {NULL, 0};
    struct elf_segment s;

    if (find_in_segments(file, &id) || find_in_sections(file, &id)) {
        return id;
    }
    for (i = 0; i < file->num_segments; i++) {
        s = elf_file_segment(file, i);
        if (s.type == PT_SCE_DYNLIBDATA && s.file_size >= SCE_BUILD_ID) {
            if (has(file, s.offset, SCE_BUILD_ID)) {
                id.data = file->data + s.offset;
                id.size = SCE_BUILD_ID;
            }
            break;
        }
    }
    return id;
}

bool elf_file_is_cut(const struct elf_file *file)
{
    struct elf_section section;
    uint64_t i;

    for (i = 0; i < file->num_sections; i++) {
        section = elf_file_section_header(file, i);
        if (section.type != ELF_SHT_NOBITS && section.type != 0 &&
            !has(file, section.offset, section.size)) {
            return true;
        }
    }
    return file->is_malformed &&
           file->all_names.size == file->section_names.size;
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
