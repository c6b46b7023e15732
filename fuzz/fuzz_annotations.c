/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: binary annotations of an inlined call in a sound function.
 */
#include <string.h>

#include "image.h"

#define ROOM 1024

static const uint8_t before[] = {
    42, 0,    0x10, 0x11, 0, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0,
    0,  0x60, 0,    0,    0, 0, 0, 0, 0, 0,   0, 0, 0, 1, 0x10,
    0,  0,    0x10, 0,    0, 0, 1, 0, 0, 'f', 0, 0, 0, 0};
static const uint8_t site[] = {0x4D, 0x11, 0, 0, 0,    0, 0,
                               0,    0,    0, 1, 0x10, 0, 0};
static const uint8_t after[] = {2, 0, 0x4E, 0x11, 2, 0, 6, 0};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n, padded;
    static uint8_t
        symbols[sizeof(before) + sizeof(site) + sizeof(after) + ROOM + 8];

    size = size < ROOM ? size : ROOM;
    padded = (size + sizeof(site) + 2 + 3) & ~(size_t)3;
    memset(symbols, 0, sizeof(symbols));
    memcpy(symbols, before, sizeof(before));
    n = sizeof(before);
    symbols[n] = (uint8_t)(padded - 2);
    symbols[n + 1] = (uint8_t)((padded - 2) >> 8);
    memcpy(symbols + n + 2, site, sizeof(site));
    if (size > 0) {
        memcpy(symbols + n + 2 + sizeof(site), data, size);
    }
    n += padded;
    memcpy(symbols + n, after, sizeof(after));
    n += sizeof(after);
    image_convert_part(IMAGE_SYMBOLS, symbols, n);
    return 0;
}
