/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds out what a PE image is known by: its own code id, and the PDB that
 * belongs to it.  The latter is in the CodeView record ("RSDS") that the
 * image's debug directory refers to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pe_identity {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    const char *name; /* of the PDB, without a folder; points into the image */
    size_t name_size; /* at least 1 */
};

/*
 * Reads the identity from a whole image in memory or in a mapping.  Returns 0,
 * or -1 with a sentence in error that says why there is none.
 */
int pe_identity_read(const uint8_t *data, size_t size,
                     struct pe_identity *identity, char *error,
                     size_t error_size);

/* The same of the portable PDB of an image of .NET.  Its age is that of keys,
 * FFFFFFFF. */
int pe_portable_identity_read(const uint8_t *data, size_t size,
                              struct pe_identity *identity, char *error,
                              size_t error_size);

/* The debug id as symbolicators know it: the GUID and age of the CodeView
 * record.  The age of a portable PDB is the time stamp of its entry. */
struct pe_debug_id {
    bool is_known;    /* or all is 0: MinGW needs --build-id for it */
    uint8_t guid[16]; /* in text order */
    uint32_t age;
};

/* The identity of the image itself. */
struct pe_code {
    uint32_t time_stamp; /* the code id is this, and the size in memory */
    uint32_t image_size;
    uint32_t arch;     /* as SymCaches number them, or 0 */
    bool is_companion; /* without its code: objcopy --only-keep-debug */
    bool is_cut;       /* the file ends in front of what it needs */
    bool has_debug_info; /* DWARF */
    bool has_symbols;    /* it exports something */
    bool has_unwind_info; /* an exception directory */
    struct pe_debug_id debug_id;
};

/* Reads this from a whole image in memory or in a mapping.  Returns 0, or -1
 * with a sentence in error that says why it is no image. */
int pe_code_read(const uint8_t *data, size_t size, struct pe_code *code,
                 char *error, size_t error_size);

struct pe_image;
void pe_debug_id(const struct pe_image *image, struct pe_debug_id *id);
