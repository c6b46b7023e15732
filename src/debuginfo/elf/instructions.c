/*
 * Copyright (C) the ngx_symcache authors
 */
#include "elf.h"

#include <string.h>

#include "file.h"
#include "identity.h"

#define EF_ARM_BE8 0x00800000 /* data is big-endian, code is not */

#define STT_FUNC 2
#define SHN_UNDEF 0

int elf_instructions_read(const uint8_t *data, size_t size, struct code *code)
{
    uint64_t i;
    char error[200];
    struct elf_file file;
    struct elf_identity identity;
    struct elf_section s;

    memset(code, 0, sizeof(*code));
    if (elf_identity_read(data, size, &identity, error, sizeof(error)) != 0 ||
        elf_file_open(&file, data, size) != NULL) {
        return 0;
    }
    code->arch = identity.arch;
    code->is_big = file.is_big && !(file.flags & EF_ARM_BE8);
    for (i = 0; i < file.num_sections; i++) {
        s = elf_file_section_header(&file, i);
        if ((s.flags & ELF_SHF_EXECINSTR) != 0 &&
            s.type != ELF_SHT_NOBITS &&
            (s.flags & ELF_SHF_COMPRESSED) == 0 &&
            code_add(code, s.address - identity.load_address, data, size,
                     s.offset, s.size) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Reads what the mapping symbols of a table say (ELF for the Arm Architecture,
 * 5.5.5): "$a", "$t" and "$d", also with a suffix behind a dot. */
static int read_marks(const struct elf_file *file, uint64_t load_address,
                      const struct elf_symbols *table, struct code *code)
{
    uint64_t i;
    size_t n;
    const char *name, *mode;
    static const char modes[] = "atd";
    struct elf_symbol s;

    for (i = 0; i < table->count; i++) {
        s = elf_file_symbol(file, table, i);
        if (!elf_strings_get(&table->names, s.name, &name, &n) || n < 2 ||
            name[0] != '$' || (n > 2 && name[2] != '.')) {
            continue;
        }
        mode = strchr(modes, name[1]);
        if (name[1] != '\0' && mode != NULL &&
            code_mark(code, s.address - load_address,
                      (enum codecache_mode)(mode - modes)) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The same of a table of functions, whose addresses are odd in Thumb code. */
static int read_functions(const struct elf_file *file, uint64_t load_address,
                          const struct elf_symbols *table, struct code *code)
{
    uint64_t i;
    struct elf_symbol s;

    for (i = 0; i < table->count; i++) {
        s = elf_file_symbol(file, table, i);
        if (s.type == STT_FUNC && s.section != SHN_UNDEF &&
            code_mark(code, (s.address & ~(uint64_t)1) - load_address,
                      s.address & 1 ? CODECACHE_THUMB : CODECACHE_ARM) != 0) {
            return -1;
        }
    }
    return 0;
}

static int read_all_marks(const struct elf_file *file, uint64_t load_address,
                          struct code *code)
{
    if (code->arch != SYMC_ARCH_ARM) {
        return 0;
    }
    if (read_marks(file, load_address, &file->symtab, code) != 0) {
        return -1;
    }
    return code->num_marks == 0 && (read_functions(file, load_address,
                                                   &file->symtab, code) != 0 ||
                                    read_functions(file, load_address,
                                                   &file->dynsym, code) != 0)
               ? -1
               : 0;
}

int elf_code_convert(const uint8_t *data, size_t size,
                     const struct symc_sink *sink,
                     struct debuginfo_result *result, struct failure *failure)
{
    char error[200];
    struct elf_identity identity;
    struct elf_file file;
    struct code code;

    if (elf_identity_read(data, size, &identity, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    (void)elf_file_open(&file, data, size);
    memcpy(result->guid, identity.guid, sizeof(result->guid));
    if (elf_instructions_read(data, size, &code) != 0 ||
        read_all_marks(&file, identity.load_address, &code) != 0) {
        code_free(&code);
        return failure_memory(failure);
    }
    return code_write(&code, size, sink, result, failure);
}
