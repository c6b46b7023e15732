/*
 * Copyright (C) the ngx_symcache authors
 *
 * The instructions of an image, at the addresses that its SymCache has.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "derived/codecache/codecache.h"
#include "format.h"

struct code_part {
    uint64_t address;
    const uint8_t *data;
    size_t size;
};

struct code {
    uint32_t arch; /* as SymCaches number them */
    bool is_big;   /* instructions are big-endian */
    struct code_part *parts;
    size_t num_parts;
    size_t part_room;
    struct codecache_mark *marks; /* of 32-bit ARM, as they came */
    size_t num_marks;
    size_t mark_room;
};

/* Adds the bytes data[offset..offset+size) of a file, unless some are outside
 * of it.  Returns 0, or -1 when out of memory. */
int code_add(struct code *code, uint64_t address, const uint8_t *data,
             size_t file_size, uint64_t offset, uint64_t size);

/* Returns the bytes at an address up to the end of their part, or NULL. */
const uint8_t *code_at(const struct code *code, uint64_t address,
                       size_t *size);

/* Says how instructions of 32-bit ARM are to be read from an address on.
 * Returns 0, or -1 when out of memory. */
int code_mark(struct code *code, uint64_t address, enum codecache_mode mode);

void code_free(struct code *code);

/*
 * Writes a CodeCache of the code to the sink: parts in the order of their
 * addresses, where some overlap those that begin first.  The identity in the
 * result is that of the module; size is that of its file, of which all parts
 * together have no more.  Frees the code.  Returns 0, or -1 with failure set.
 */
int code_write(struct code *code, size_t size, const struct symc_sink *sink,
               const struct debuginfo_result *result, struct failure *failure);
