/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: an ELF file, and another one that is read with it: a .dwo file,
 * a package of them, or what dwz has moved.  The input is the size of the
 * first in four little-endian bytes, and both files.
 */
#include <string.h>

#include "base/le.h"
#include "debuginfo/elf/elf.h"
#include "debuginfo/supplement.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char paths[256];
    size_t n, at;
    struct supplement_file other;
    struct supplement supplement = {.split = &other, .num_split = 1};
    struct debuginfo_result result = {0};

    if (size < 4) {
        return 0;
    }
    n = le32(data);
    data += 4;
    size -= 4;
    n = n < size ? n : size;
    other.data = data + n;
    other.size = size - n;
    supplement.altlink = other;
    supplement_set(&supplement);
    image_check(elf_format.makes, data, n, &result);
    for (at = 0, n = elf_split_paths(data, n, paths, sizeof(paths)); at < n;
         at += strlen(paths + at) + 1) {
    }
    return at == n ? 0 : -1;
}
