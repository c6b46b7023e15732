/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the call frame information of an ELF file.
 */
#include "elf.h"

#include <string.h>

#include "debuginfo/cfi.h"
#include "debuginfo/dwarf/dwarf.h"
#include "debuginfo/scratch.h"
#include "ehabi.h"
#include "file.h"
#include "identity.h"
#include "inflate.h"

static int read_section(const struct elf_file *file, const char *name,
                        struct cfi *cfi)
{
    int rc = 1;
    bool is_compressed = false;
    struct elf_bytes bytes, inflated = {NULL, 0};
    struct dwarf_frames frames = {.load_address = elf_file_load_address(file),
                                  .arch = cfi->identity.arch,
                                  .is_big = file->is_big,
                                  .is_eh = strcmp(name, "eh_frame") == 0};

    bytes = elf_file_find_loaded(file, name, &is_compressed, &frames.address);
    if (bytes.data == NULL) {
        return 0;
    }
    if (is_compressed) {
        rc = elf_inflate(file, &bytes, &inflated);
        bytes = inflated;
    }
    if (rc <= 0) {
        return rc == 0 ? 0 : failure_memory(cfi->failure);
    }
    frames.section.data = bytes.data;
    frames.section.size = bytes.size;
    rc = dwarf_frames_read(&frames, cfi);
    scratch_free((uint8_t *)(uintptr_t)inflated.data);
    return rc;
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
    if (read_section(&file, "debug_frame", cfi) != 0 ||
        read_section(&file, "eh_frame", cfi) != 0) {
        return -1;
    }
    /* linkers leave an empty .eh_frame in files without DWARF frames */
    return cfi->has_ranges ? 0 : elf_ehabi_read(&file, cfi);
}
