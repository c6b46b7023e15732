/*
 * Copyright (C) the ngx_symcache authors
 */
#include "machine_code.h"

#include <stdlib.h>

#include "base/array.h"

int code_add(struct code *code, uint64_t address, const uint8_t *data,
             size_t file_size, uint64_t offset, uint64_t size)
{
    struct code_part *part;

    if (size == 0 || offset > file_size || size > file_size - offset) {
        return 0;
    }
    if (symc_array_need(&code->parts, &code->part_room, code->num_parts + 1,
                        sizeof(*code->parts)) != 0) {
        return -1;
    }
    part = &code->parts[code->num_parts++];
    part->address = address;
    part->data = data + offset;
    part->size = (size_t)size;
    return 0;
}

const uint8_t *code_at(const struct code *code, uint64_t address, size_t *size)
{
    size_t i;
    const struct code_part *part;

    for (i = 0; i < code->num_parts; i++) {
        part = &code->parts[i];
        if (address >= part->address &&
            address - part->address < part->size) {
            *size = part->size - (size_t)(address - part->address);
            return part->data + (address - part->address);
        }
    }
    return NULL;
}

void code_free(struct code *code)
{
    free(code->parts);
}
