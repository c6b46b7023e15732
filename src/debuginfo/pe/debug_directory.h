/*
 * Copyright (C) the ngx_symcache authors
 *
 * The debug directory of a PE image: what belongs to it for debuggers.
 */
#pragma once

#include "image.h"

#define PE_DEBUG_CODEVIEW 2
#define PE_DEBUG_EMBEDDED_PDB 17 /* of .NET */

struct pe_debug_entry {
    uint32_t type;
    uint16_t minor;      /* version of what it refers to */
    const uint8_t *data; /* NULL if it is not in the file */
    uint32_t size;
};

/* Returns the number of entries in *count and the first one, which is where
 * the others begin; or NULL with a sentence in error. */
const uint8_t *pe_debug_directory(const struct pe_image *image,
                                  uint32_t *count, char *error,
                                  size_t error_size);

/* Reads entry i, which is below their number. */
void pe_debug_entry(const struct pe_image *image, const uint8_t *directory,
                    uint32_t i, struct pe_debug_entry *entry);

/*
 * Finds the first entry of a type.  Returns true, or false if the image has
 * none, or is no image.
 */
bool pe_debug_find(const uint8_t *data, size_t size, uint32_t type,
                   struct pe_debug_entry *entry);
