/*
 * Copyright (C) the ngx_symcache authors
 */
#include "elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "debuginfo/dwarf/dwarf.h"
#include "debuginfo/supplement.h"
#include "derived/symcache/symcache.h"

#include "altlink.h"
#include "file.h"
#include "identity.h"
#include "minidebug.h"
#include "split_files.h"

#define STT_FUNC 2
#define PT_LOAD 1
#define PF_X 1
#define PF_W 2
#define BUILD_ID_NOTED 32 /* bytes; longer ones are not told */

struct elf_convert {
    struct elf_file file;
    struct failure *failure;
    struct dwarf_object object;
    uint64_t load_address;
    struct symbol_list symbols;
    struct dwarf_missing missing; /* of split DWARF */
    uint8_t *packed;              /* the file of .gnu_debugdata, or NULL */
};

/* symbols ----------------------------------------------------------------- */

/* Where code begins.  A symbol of Thumb code is odd (ELF for the Arm
 * Architecture, 5.5.3), and the reference takes it as it is. */
static uint64_t start_of(const struct elf_convert *convert,
                         const struct elf_symbol *s)
{
    return convert->file.machine == ELF_EM_ARM &&
                   !convert->object.is_like_symbolic
               ? s->address & ~(uint64_t)1
               : s->address;
}

/*
 * The size of a function.  One that is not told, as of _fini, goes up to the
 * next symbol, but not beyond its section: the last one would have all data,
 * and every pointer to data on a stack would be a return address into it.
 */
static uint32_t size_of(const struct elf_convert *convert,
                        const struct elf_symbol *s,
                        const struct elf_section *section)
{
    uint64_t offset = start_of(convert, s) - section->address;

    return s->size != 0 || convert->object.is_like_symbolic ||
                   offset >= section->size ||
                   section->size - offset > UINT32_MAX
               ? (uint32_t)s->size
               : (uint32_t)(section->size - offset);
}

/* Adds the functions of a table of a file. */
static int convert_add_symbols(struct elf_convert *convert,
                               const struct elf_file *file,
                               const struct elf_symbols *table)
{
    size_t size;
    uint32_t name_size;
    uint64_t i;
    struct elf_symbol s;
    const char *name;
    const uint64_t code = ELF_SHF_ALLOC | ELF_SHF_EXECINSTR;
    unsigned last = 0; /* most symbols are in the section of that before */
    bool is_code = false;
    struct elf_section section = {0};

    for (i = 0; i < table->count && convert->symbols.work > 0; i++) {
        s = elf_file_symbol(file, table, i);
        if (s.type != STT_FUNC || s.address < convert->load_address ||
            s.section == 0 || s.section >= file->num_sections) {
            continue;
        }
        if (s.section != last) {
            last = s.section;
            section = elf_file_section_header(file, last);
            is_code = (section.flags & code) == code;
        }
        if (!is_code) {
            continue;
        }
        name = NULL;
        name_size = 0;
        size = 0;
        if (elf_strings_get(&table->names, s.name, &name, &size)) {
            name_size = (uint32_t)size;
            symbol_list_work(&convert->symbols, size);
        }
        if (size > UINT32_MAX ||
            symbol_list_add(&convert->symbols,
                            start_of(convert, &s) - convert->load_address,
                            size_of(convert, &s, &section), name, name_size,
                            convert->failure) != 0) {
            return failure_memory(convert->failure);
        }
    }
    return 0;
}

/* Adds the functions of .gnu_debugdata, which counts where a file is stripped
 * of better ones. */
static int add_packed_symbols(struct elf_convert *convert)
{
    int rc;
    struct elf_file mini;

    if (supplement_get()->is_like_symbolic || convert->file.symtab.count > 0 ||
        convert->object.sections[DWARF_INFO].size > 0) {
        return 0;
    }
    rc = elf_minidebug_open(&convert->file, &mini, &convert->packed);
    return rc < 0   ? failure_memory(convert->failure)
           : rc > 0 ? convert_add_symbols(convert, &mini, &mini.symtab)
                    : 0;
}

/*
 * Finds where code lies in the file, if that is not where it lies in memory.
 * Of a debug file, segments are empty: then it is at the next place that can be
 * mapped to the address, as linkers put one segment after the other.
 */
static void find_code(struct elf_convert *convert)
{
    struct symc_segments *found = &convert->symbols.segments;
    uint64_t end = 0, address, size;
    struct elf_segment s;
    uint32_t i;

    for (i = 0; i < convert->file.num_segments && found->n < SYMC_SEGMENTS;
         i++) {
        s = elf_file_segment(&convert->file, i);
        if (s.type != PT_LOAD || s.address < convert->load_address) {
            continue;
        }
        address = s.address - convert->load_address;
        size = s.file_size;
        if (size == 0 && s.align > 0) {
            s.offset = end + (s.address - end) % s.align;
            size = s.memory_size;
        }
        if ((s.flags & PF_X) && size > 0 && s.offset != address) {
            found->list[found->n++] =
                (struct symc_segment){s.offset, size, address};
        }
        end = s.offset + (s.file_size > 0 && s.memory_size > s.file_size &&
                                  !(s.flags & PF_W)
                              ? s.memory_size
                              : size);
    }
}

static int convert_read_symbols(struct elf_convert *convert)
{
    symbol_list_init(&convert->symbols, &convert->object, convert->file.size);
    if (!convert->object.is_like_symbolic) {
        find_code(convert);
    }
    return convert_add_symbols(convert, &convert->file,
                               &convert->file.symtab) != 0 ||
                   add_packed_symbols(convert) != 0 ||
                   convert_add_symbols(convert, &convert->file,
                                       &convert->file.dynsym) != 0
               ? -1
               : symbol_list_end(&convert->symbols, convert->failure);
}

/* the file ---------------------------------------------------------------- */

/* Does DWARF wait for a linker, as in kernel modules of x86-64?  Until then all
 * of its references are 0: to names, to lines, to code. */
static bool is_unlinked(const struct elf_file *f)
{
    struct elf_section s;

    return f->type == ELF_REL &&
           elf_file_find_named(f, ".rela.debug_info", &s);
}

static struct dwarf_found convert_find_section(const void *file,
                                               const char *name)
{
    return elf_file_find(file, name);
}

static int convert_take_sections(struct elf_convert *convert)
{
    convert->object.is_big = convert->file.is_big;
    convert->object.is_64 = convert->file.is_64;
    convert->object.is_relocatable = convert->file.type == ELF_REL;
    convert->object.load_address = convert->load_address;
    return !supplement_get()->is_like_symbolic && is_unlinked(&convert->file)
               ? 0
               : dwarf_sections_find(&convert->object, convert_find_section,
                                     &convert->file, convert->failure);
}

static bool is_linked(const struct elf_altlink *link,
                      const struct supplement *given, struct elf_file *file)
{
    struct elf_bytes id;
    struct elf_altlink own;

    if (given->altlink.data == NULL ||
        elf_file_open(file, given->altlink.data, given->altlink.size) !=
            NULL) {
        return false;
    }
    if (elf_altlink_own(file, &own)) {
        return own.id_size == link->id_size &&
               memcmp(own.id, link->id, own.id_size) == 0;
    }
    id = elf_file_build_id(file);
    return id.data != NULL && id.size == link->id_size &&
           memcmp(id.data, link->id, id.size) == 0;
}

/* Opens the file that dwz has made, if it is there and the right one. */
static int convert_take_supplement(struct elf_convert *convert,
                                   struct elf_convert *s,
                                   struct debuginfo_result *result)
{
    const struct supplement *given = supplement_get();
    char id[2 * ELF_ALTLINK_ID + 1];
    struct elf_altlink link;

    convert->object.is_like_symbolic = given->is_like_symbolic;
    if (given->is_like_symbolic ||
        !elf_altlink_read(convert->file.data, convert->file.size, &link)) {
        return 0;
    }
    if (!is_linked(&link, given, &s->file)) {
        hex_print(id, link.id, link.id_size, HEX_LOWER);
        snprintf(result->note, sizeof(result->note), ALTLINK_NOTE "%.80s",
                 id);
        return 0;
    }
    s->failure = convert->failure;
    convert->object.supplementary = &s->object;
    return convert_take_sections(s);
}

/* Opens the files of split DWARF that are there. */
static int convert_take_split(struct elf_convert *convert,
                              struct elf_split *split)
{
    const struct supplement *given = supplement_get();

    if (given->is_like_symbolic) {
        return 0;
    }
    convert->object.missing = &convert->missing;
    if (elf_split_open(split, &convert->file, given, convert->failure) != 0) {
        return -1;
    }
    convert->object.split = split->list;
    convert->object.num_split = split->count;
    return 0;
}

static void convert_note_missing(const struct elf_convert *convert,
                                 struct debuginfo_result *result)
{
    const struct elf_bytes id = elf_file_build_id(&convert->file);
    char of[sizeof(SPLIT_OF_NOTE) + 2 * BUILD_ID_NOTED] = "";
    size_t n = strlen(result->note);

    if (convert->missing.units == 0) {
        return;
    }
    if (id.data != NULL && id.size > 0 && id.size <= BUILD_ID_NOTED) {
        hex_print(stpcpy(of, SPLIT_OF_NOTE), id.data, id.size, HEX_LOWER);
    }
    snprintf(
        result->note + n, sizeof(result->note) - n,
        "%s" SPLIT_NOTE "%s, of which the file \"%s\" is the first of %zu",
        n > 0 ? "; " : "", of, convert->missing.name, convert->missing.units);
    result->lacks_split = 1;
}

/* Converts an open file.  Returns 0, -1 with failure set, or 1 if a section
 * that was read while it was decompressed is damaged: then nothing was
 * written. */
static int convert_file(struct elf_convert *convert,
                        const struct symc_identity *identity,
                        const struct symc_sink *sink,
                        struct debuginfo_result *result)
{
    struct elf_convert supplementary = {0};
    struct elf_split split = {0};
    int rc;

    rc = convert_take_sections(convert) != 0 ||
                 convert_take_supplement(convert, &supplementary, result) !=
                     0 ||
                 convert_take_split(convert, &split) != 0 ||
                 convert_read_symbols(convert) != 0
             ? -1
             : symbol_list_convert(&convert->symbols, &convert->object,
                                   identity, sink, result, convert->failure);
    symbol_list_free(&convert->symbols);
    convert_note_missing(convert, result);
    elf_split_free(&split);
    free(convert->packed);
    (void)dwarf_sections_free(&supplementary.object);
    return dwarf_sections_free(&convert->object) ? rc : 1;
}

static int convert_elf(const uint8_t *data, size_t size,
                       const struct symc_sink *sink,
                       struct debuginfo_result *result,
                       struct failure *failure)
{
    int rc;
    char error[200];
    struct elf_identity identity;
    struct symc_identity written;
    struct elf_convert convert, again;

    if (elf_identity_read(data, size, &identity, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    memset(&convert, 0, sizeof(convert));
    convert.failure = failure;
    (void)elf_file_open(&convert.file, data, size);
    if (!result->has_file_addresses || !elf_file_is_low(&convert.file)) {
        convert.load_address = elf_file_load_address(&convert.file);
    }
    memcpy(written.guid, identity.guid, sizeof(written.guid));
    written.age = 0;
    written.arch = identity.arch;
    again = convert;
    convert.object.reads_ahead = true;
    rc = convert_file(&convert, &written, sink, result);
    if (rc > 0) {
        memset(failure, 0, sizeof(*failure));
        result->note[0] = '\0';
        rc = convert_file(&again, &written, sink, result);
    }
    return rc;
}

static const struct debuginfo_maker elf_makes[] = {
    {.output = SYMCACHE_KIND_SYMCACHE, .convert = convert_elf},
    {.output = SYMCACHE_KIND_CFICACHE, .read_cfi = elf_cfi_read},
    {.output = SYMCACHE_KIND_CODECACHE, .convert = elf_code_convert},
};

const struct debuginfo_format elf_format = {
    .sniff = elf_sniff,
    .makes = elf_makes,
    .num_makes = sizeof(elf_makes) / sizeof(elf_makes[0]),
};
