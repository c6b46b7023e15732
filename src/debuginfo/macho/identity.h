/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds out what a Mach-O file is known by: the UUID that its linker gave it,
 * which its dSYM has, too.  A fat file holds several images, its slices, for
 * one architecture each, with UUIDs of their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Java classes have the magic of fat files, and after it a version, of which
 * there is none below 45. */
#define MACHO_SLICES_MAX 44

struct macho_slice {
    bool is_sound;    /* or it is a library of objects, or damaged */
    bool is_cut;      /* the file ends in front of what it, or another slice,
                         needs */
    bool has_uuid;    /* or it is all 0 */
    uint8_t uuid[16]; /* the debug id and the code id; there is no age */
    uint32_t arch;    /* as SymCaches number them, or 0 */
    uint32_t file_type; /* MH_EXECUTE 2, MH_DYLIB 6, MH_BUNDLE 8, ... */
    bool is_dsym;       /* debug information without code: MH_DSYM */
    bool has_debug_info; /* DWARF, which objects have as well */
    bool has_symbols;    /* a symbol table that is not empty */
    bool has_unwind_info; /* __unwind_info, __eh_frame or __debug_frame */
    uint64_t offset;    /* in the file; all of a file that is not fat */
    uint64_t size;
};

struct macho_identity {
    bool is_fat;
    unsigned num_slices; /* 1 if it is not fat */
    struct macho_slice slices[MACHO_SLICES_MAX];
};

/* Do the first bytes say that a file is Mach-O, fat or not? */
bool macho_sniff(const uint8_t *data, size_t size);

/*
 * Reads this from a whole file in memory or in a mapping.  A slice that cannot
 * be read does no harm to the others.  Returns 0, or -1 with a sentence in
 * error that says why there is no identity.
 */
int macho_identity_read(const uint8_t *data, size_t size,
                        struct macho_identity *identity, char *error,
                        size_t error_size);
