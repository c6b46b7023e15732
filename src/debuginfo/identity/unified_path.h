/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where a debug file, a program or a source bundle belongs in a folder of
 * Symbolicator's layout "unified": <first two digits>/<rest of the id>/<type>,
 * as symsorter (getsentry/symbolicator, crates/symsorter) lays it down.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/key.h"

/* In the order in which they describe a module best. */
enum unified_type {
    UNIFIED_DEBUGINFO,
    UNIFIED_EXECUTABLE,
    UNIFIED_SOURCEBUNDLE,
    UNIFIED_UUIDMAP,
    UNIFIED_BCSYMBOLMAP,
    UNIFIED_TYPES
};

/* The words of the types, as file names. */
const char *unified_word(enum unified_type type);

/* Two digits, and the longest build id, which is longer than a debug id. */
#define UNIFIED_ID_SIZE (2 * SYMCACHE_BUILD_ID_MAX + 1)

/* The names of formats and processors are those of the "symbolic" library. */
struct unified_path {
    char id[UNIFIED_ID_SIZE]; /* lower-case hex: of ELF, Mach-O and WebAssembly
                                 the code id, of others the debug id */
    char arch[20];            /* "unknown" */
    char format[16];
    enum unified_type type;
    bool has_debug_info; /* more than symbols */
};

/*
 * Reads a whole file with one image.  Symbol maps and UUID maps of Apple's
 * have their UUID in their name only, which is one without a folder.  Returns
 * 1; 0 if it is of a format or a kind that has no place there, such as an
 * object of a linker; or -1 with a sentence in error.
 */
int unified_path_read(const uint8_t *data, size_t size, const char *name,
                      struct unified_path *path, char *error,
                      size_t error_size);
