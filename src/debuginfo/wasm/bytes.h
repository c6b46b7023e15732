/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the bytes of a WebAssembly module from left to right.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WASM_HEADER "\0asm\1\0\0\0" /* of version 1 */
#define WASM_HEADER_SIZE 8

enum wasm_section_id {
    WASM_CUSTOM = 0,
    WASM_IMPORT = 2,
    WASM_FUNCTION = 3,
    WASM_CODE = 10
};

/* The unread rest of a part of the module.  Reading more than that fails, and
 * from then on everything is 0. */
struct wasm_bytes {
    const uint8_t *at;
    const uint8_t *end;
    bool has_failed;
};

/* Reads one byte. */
uint8_t wasm_byte(struct wasm_bytes *bytes);

/* Read a LEB128 number of at most 32 or 64 bits.  A longer one fails. */
uint32_t wasm_u32(struct wasm_bytes *bytes);
uint64_t wasm_u64(struct wasm_bytes *bytes);

/* Reads a length and takes so many bytes out. */
struct wasm_bytes wasm_part(struct wasm_bytes *bytes);

/* Is the unread rest this text? */
bool wasm_bytes_are(const struct wasm_bytes *bytes, const char *text);
