/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a section with DWARF frames, behind two bytes: which section of
 * which byte order it is, and the architecture.
 */
#include "cfi.h"
#include "debuginfo/dwarf/dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_section(const uint8_t *data, size_t size, struct cfi *cfi,
                        struct failure *failure)
{
    struct dwarf_frames frames = {
        .found = {{data + 2, size - 2}, 0x5000, false},
        .arch = 101 + (uint32_t)(data[1] % 10) * 100,
        .is_big = (data[0] & 1) != 0,
        .is_eh = (data[0] & 2) != 0};

    (void)failure;
    return dwarf_frames_read(&frames, cfi);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 2) {
        cfi_check(read_section, data, size);
    }
    return 0;
}
