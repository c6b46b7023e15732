/*
 * Copyright (C) the ngx_symcache authors
 */
#include "instructions.h"

#include <string.h>

#include "file.h"
#include "identity.h"

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
    for (i = 0; i < file.num_sections; i++) {
        s = elf_file_section(&file, i);
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
