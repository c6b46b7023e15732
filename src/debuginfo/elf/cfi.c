/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the call frame information of an ELF file.
 */
#include "elf.h"

#include <string.h>

#include "debuginfo/cfi.h"
#include "debuginfo/dwarf/dwarf.h"
#include "ehabi.h"
#include "file.h"
#include "identity.h"

static int read_elf_section(const struct elf_file *file, const char *name,
                            struct cfi *cfi)
{
    const struct dwarf_frames frames = {
        .found = elf_file_find(file, name),
        .load_address = elf_file_load_address(file),
        .arch = cfi->identity.arch,
        .is_big = file->is_big,
        .is_64 = file->is_64,
        .is_eh = strcmp(name, "eh_frame") == 0};

    return dwarf_frames_read(&frames, cfi);
}

int elf_cfi_read(const uint8_t *data, size_t size, struct cfi *cfi,
                 struct failure *failure)
{
    char error[200];
    struct elf_identity identity;
    struct elf_file file;

    if (elf_identity_read(data, size, &identity, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    (void)elf_file_open(&file, data, size);
    memcpy(cfi->identity.guid, identity.guid, sizeof(identity.guid));
    cfi->identity.arch = identity.arch;
    if (file.type == ELF_REL) {
        return 0; /* only a linker knows the addresses of functions */
    }
    return read_elf_section(&file, "debug_frame", cfi) != 0 ||
                   read_elf_section(&file, "eh_frame", cfi) != 0 ||
                   elf_ehabi_read(&file, cfi) != 0
               ? -1
               : 0;
}
