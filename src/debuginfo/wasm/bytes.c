/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bytes.h"

#include <string.h>

uint8_t wasm_byte(struct wasm_bytes *bytes)
{
    if (bytes->at == bytes->end) {
        bytes->has_failed = true;
        return 0;
    }
    return *bytes->at++;
}

static uint64_t leb128(struct wasm_bytes *bytes, unsigned bits)
{
    uint64_t value = 0;
    unsigned shift;
    uint8_t byte;

    for (shift = 0; shift < bits; shift += 7) {
        byte = wasm_byte(bytes);
        if (bits - shift < 7 && byte >> (bits - shift) != 0) {
            break;
        }
        value |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) {
            return value;
        }
    }
    bytes->has_failed = true;
    bytes->at = bytes->end;
    return 0;
}

uint32_t wasm_u32(struct wasm_bytes *bytes)
{
    return (uint32_t)leb128(bytes, 32);
}

uint64_t wasm_u64(struct wasm_bytes *bytes)
{
    return leb128(bytes, 64);
}

struct wasm_bytes wasm_part(struct wasm_bytes *bytes)
{
    struct wasm_bytes part = {bytes->at, bytes->at, false};
    uint32_t size = wasm_u32(bytes);

    if (bytes->has_failed || size > (size_t)(bytes->end - bytes->at)) {
        bytes->has_failed = true;
        part.has_failed = true;
        bytes->at = bytes->end;
        return part;
    }
    part.at = bytes->at;
    part.end = bytes->at += size;
    return part;
}

bool wasm_bytes_are(const struct wasm_bytes *bytes, const char *text)
{
    return (size_t)(bytes->end - bytes->at) == strlen(text) &&
           memcmp(bytes->at, text, strlen(text)) == 0;
}
