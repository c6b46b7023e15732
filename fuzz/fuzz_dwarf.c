/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: sections of DWARF, without an object file around them, which
 * mutations would mostly break.  The input is a byte of options and records of
 * {u8 section, u16 little-endian size, bytes}; the last may end early.
 */
#include <string.h>

#include "debuginfo/dwarf/dwarf.h"
#include "debuginfo/format.h"
#include "image.h"
#include "derived/symcache/symcache.h"

#define IS_BIG 1
#define IS_RELOCATABLE 2
#define HAS_SYMBOLS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int convert(const uint8_t *data, size_t size,
                   const struct symc_sink *sink,
                   struct debuginfo_result *result, struct failure *failure)
{
    int rc;
    size_t n;
    struct dwarf_object object;
    struct symc_writer writer;
    struct symc_identity identity = {{0}, 0, 0};
    static const struct debuginfo_symbol symbols[] = {
        {0x1100, "second", 6, 0},
        {0x1000, "first", 5, 0},
        {0x1010, NULL, 0, 0}};
    static const uint64_t addresses[] = {(uint64_t)0x1000 << 32 | 1,
                                         (uint64_t)0x1010 << 32 | 2,
                                         (uint64_t)0x1100 << 32};

    memset(&object, 0, sizeof(object));
    if (size > 0) {
        object.is_big = data[0] & IS_BIG;
        object.is_relocatable = (data[0] & IS_RELOCATABLE) != 0;
        object.load_address = data[0] & 0xF0;
        if (data[0] & HAS_SYMBOLS) {
            object.symbols = symbols;
            object.addresses = addresses;
            object.num_addresses = sizeof(addresses) / sizeof(addresses[0]);
        }
        data++;
        size--;
    }
    while (size >= 3) {
        n = data[1] | (size_t)data[2] << 8;
        n = n < size - 3 ? n : size - 3;
        object.sections[data[0] % DWARF_SECTIONS].data = data + 3;
        object.sections[data[0] % DWARF_SECTIONS].size = n;
        data += 3 + n;
        size -= 3 + n;
    }
    symc_writer_init(&writer);
    rc = dwarf_convert(&object, &writer, failure) != 0
             ? -1
             : format_finish(&writer, &identity, sink, result, failure);
    symc_writer_free(&writer);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct debuginfo_result result = {0};
    static const struct debuginfo_maker maker = {.convert = convert};

    image_check(&maker, data, size, &result);
    return 0;
}
