/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is read of a WebAssembly module (webassembly.github.io/spec, section
 * 5.5): its functions, their names, and the custom sections of debug
 * information.
 */
#pragma once

#include "debuginfo/dwarf/dwarf.h"
#include "identity.h"

#define WASM_SECTIONS_MAX 32 /* of debug information; DWARF has 20 */

struct wasm_section {
    const char *name; /* with its dot */
    uint32_t name_size;
    const uint8_t *data;
    size_t size;
};

struct wasm_module {
    struct wasm_build_id id; /* all zero: there is none */
    uint64_t code;  /* offset of the code section's content, or 0 */
    struct wasm_section sections[WASM_SECTIONS_MAX];
    unsigned num_sections;
};

/*
 * Reads a module in memory.  Adds each function that has a body to symbols: its
 * address is the offset of the body, and it extends to the next one.  Returns
 * 0, or -1 with failure set.
 *
 * The reference also validates types and instructions, and refuses what is
 * invalid; here only what is read must make sense.
 */
int wasm_module_read(const uint8_t *data, size_t size,
                     struct wasm_module *module, struct symbol_list *symbols,
                     struct failure *failure);

/* Finds a section of DWARF by its name without the dot, for example
 * "debug_info".  Its data is NULL if there is none. */
struct dwarf_section wasm_dwarf_section(const struct wasm_module *module,
                                        const char *name);
