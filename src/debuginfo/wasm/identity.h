/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a WebAssembly module is known by, and what it has: its debug id is the
 * custom section "build_id" (tool-conventions, BuildId.md), without an age.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"

/* The first bytes of an id, as they are; all zero: there is none.  Linkers
 * write its length in front of it, other tools do not.  Who reads the section
 * without knowing that takes the length for a byte of the id. */
struct wasm_build_id {
    uint8_t guid[16];
    uint8_t with_length[16]; /* the first bytes of the section */
};

/* Reads the content of a section "build_id". */
void wasm_build_id_read(const uint8_t *data, size_t size,
                        struct wasm_build_id *id);

struct wasm_identity {
    struct wasm_build_id id;
    const uint8_t *build_id; /* all of the section, in data: the code id */
    size_t build_id_size;    /* 0: there is none */
    bool has_debug_info; /* DWARF */
    bool has_symbols;    /* code */
    uint64_t code;       /* offset of the code section's content, or 0 */
    struct wasm_bytes source_map; /* the URLs of a map, and of a module with */
    struct wasm_bytes debug_file; /* debug information; empty: there is none */
};

/* Does a file begin as a module of version 1? */
bool wasm_sniff(const uint8_t *data, size_t size);

/*
 * Reads the identity of a whole module in memory or in a mapping.  Returns 0,
 * or -1 with a sentence in error that says why there is none; a module that is
 * cut off is damaged, unless its end falls between two sections.
 */
int wasm_identity_read(const uint8_t *data, size_t size,
                       struct wasm_identity *identity, char *error,
                       size_t error_size);
