/*
 * Copyright (C) the ngx_symcache authors
 *
 * The instructions of an image, at the addresses that its SymCache has.
 */
#ifndef DEBUGINFO_MACHINE_CODE_H
#define DEBUGINFO_MACHINE_CODE_H

#include <stddef.h>
#include <stdint.h>

struct code_part {
    uint64_t address;
    const uint8_t *data;
    size_t size;
};

struct code {
    uint32_t arch; /* as SymCaches number them */
    struct code_part *parts;
    size_t num_parts;
    size_t part_room;
};

/* Adds the bytes data[offset..offset+size) of a file, unless some are outside
 * of it.  Returns 0, or -1 when out of memory. */
int code_add(struct code *code, uint64_t address, const uint8_t *data,
             size_t file_size, uint64_t offset, uint64_t size);

/* Returns the bytes at an address up to the end of their part, or NULL. */
const uint8_t *code_at(const struct code *code, uint64_t address,
                       size_t *size);

void code_free(struct code *code);

#endif
