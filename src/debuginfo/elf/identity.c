/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "base/le.h"
#include "file.h"
#include "derived/symcache/symcache.h"

#define HASHED 4096 /* bytes of code that stand for a build id */
#define ET_SCE_DYNEXEC 0xfe10 /* of a console */
#define ET_SCE_DYNAMIC 0xfe18
#define EM_MIPS 8
#define EM_MIPS_RS3_LE 10
#define EF_MIPS_64 0x6000 /* ABIs O64 and EABI64 */

static const struct {
    uint16_t machine;
    const char *arch;
} machines[] = {
    {3, "x86"},    {62, "x86_64"}, {183, "arm64"},
    {40, "arm"},   {20, "ppc"},    {21, "ppc64"},
};

bool elf_sniff(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, "\177ELF", 4) == 0;
}

static uint32_t identity_arch(const struct elf_file *f)
{
    size_t i;
    uint32_t number = 0;

    if (f->machine == EM_MIPS || f->machine == EM_MIPS_RS3_LE) {
        symc_arch_find(f->flags & EF_MIPS_64 ? "mips64" : "mips", &number);
    }
    for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
        if (machines[i].machine == f->machine) {
            symc_arch_find(machines[i].arch, &number);
        }
    }
    return number;
}

static bool identity_has_section(const struct elf_file *f, const char *name)
{
    return elf_file_find(f, name).section.data != NULL;
}

/* Stripping debug information into a companion does not change the type of the
 * file, but what makes a program or library run is missing then. */
static enum elf_kind identity_kind(const struct elf_file *f)
{
    switch (f->type) {
    case ELF_REL:
        return ELF_KIND_RELOCATABLE;
    case ELF_CORE:
        return ELF_KIND_DUMP;
    case ELF_EXEC:
    case ET_SCE_DYNEXEC:
        return f->has_interpreter ? ELF_KIND_EXECUTABLE : ELF_KIND_DEBUG;
    case ELF_DYN:
    case ET_SCE_DYNAMIC:
        return identity_has_section(f, "text") ? ELF_KIND_LIBRARY
                                               : ELF_KIND_DEBUG;
    default:
        return ELF_KIND_OTHER;
    }
}

static bool identity_has_code(const struct elf_file *f)
{
    uint64_t i;
    struct elf_section s;
    const uint64_t code = ELF_SHF_ALLOC | ELF_SHF_EXECINSTR;

    for (i = 0; i < f->num_sections; i++) {
        s = elf_file_section_header(f, i);
        if (s.type != ELF_SHT_NOBITS && s.size > 0 &&
            (s.flags & code) == code) {
            return true;
        }
    }
    return false;
}

/* Makes the debug id.  The first three fields of a GUID are numbers, which a
 * little-endian file stores in that order. */
static void debug_id(const struct elf_file *f, const struct elf_bytes *build_id,
                     uint8_t guid[16])
{
    size_t i;
    uint8_t id[16] = {0};
    struct dwarf_section text;

    if (build_id->data != NULL) {
        memcpy(id, build_id->data, build_id->size < 16 ? build_id->size : 16);
    } else {
        text = elf_file_find(f, "text").section;
        for (i = 0; text.data != NULL && i < text.size && i < HASHED; i++) {
            id[i % 16] ^= text.data[i];
        }
    }
    if (f->is_big) {
        memcpy(guid, id, 16);
    } else {
        le_guid(guid, id);
    }
}

int elf_identity_read(const uint8_t *data, size_t size,
                      struct elf_identity *identity, char *error,
                      size_t error_size)
{
    const char *wrong;
    struct elf_file f;
    struct elf_bytes build_id;
    struct elf_section section;

    wrong = elf_file_open(&f, data, size);
    if (wrong != NULL) {
        snprintf(error, error_size, "%s", wrong);
        return -1;
    }
    build_id = elf_file_build_id(&f);
    debug_id(&f, &build_id, identity->guid);
    identity->arch = identity_arch(&f);
    identity->load_address = elf_file_load_address(&f);
    identity->build_id = build_id.data;
    identity->build_id_size = build_id.size;
    identity->kind = identity_kind(&f);
    identity->has_code = identity_has_code(&f);
    identity->is_cut = elf_file_is_cut(&f);
    f.section_names = f.all_names;
    identity->has_debug_info = identity_has_section(&f, "debug_info");
    identity->has_symbols = f.symtab.count > 0 || f.dynsym.count > 0;
    identity->is_kernel =
        elf_file_find_named(&f, "__ksymtab", &section) ||
        elf_file_find_named(&f, ".gnu.linkonce.this_module", &section);
    identity->has_unwind_info = identity_has_section(&f, "eh_frame") ||
                                identity_has_section(&f, "debug_frame") ||
                                identity_has_section(&f, "ARM.exidx");
    return 0;
}
