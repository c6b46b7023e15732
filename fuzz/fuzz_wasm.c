/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the identity of a WebAssembly module, and its conversion.  Input
 * that has no header gets one, so that mutations affect the sections behind it.
 */
#include <string.h>

#include "debuginfo/wasm/wasm.h"
#include "image.h"

#define HEADER "\0asm\1\0\0"
#define ROOM 0x10000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t module[sizeof(HEADER) + ROOM];
    struct debuginfo_result result = {0};
    struct wasm_identity identity;
    char error[200];

    if (size > ROOM) {
        return 0;
    }
    if (size < 4 || memcmp(data, HEADER, 4) != 0) {
        memcpy(module, HEADER, sizeof(HEADER));
        if (size > 0) {
            memcpy(module + sizeof(HEADER), data, size);
        }
        data = module;
        size += sizeof(HEADER);
    }
    (void)wasm_identity_read(data, size, &identity, error, sizeof(error));
    image_check(wasm_format.makes, data, size, &result);
    return 0;
}
