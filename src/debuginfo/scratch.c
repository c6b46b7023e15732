/*
 * Copyright (C) the ngx_symcache authors
 */
#include "scratch.h"

#include <stdint.h>
#include <stdlib.h>

#define ALIGNMENT 64

static struct {
    uint8_t *data;
    size_t size;
    size_t used;
} scratch;

void scratch_use(void *mapping, size_t size)
{
    scratch.data = mapping;
    scratch.size = size;
    scratch.used = 0;
}

void *scratch_allocate(size_t size)
{
    void *memory;

    if (size >= scratch.size - scratch.used) {
        return malloc(size > 0 ? size : 1);
    }
    memory = scratch.data + scratch.used;
    size += -size & (ALIGNMENT - 1);
    scratch.used =
        size < scratch.size - scratch.used ? scratch.used + size : scratch.size;
    return memory;
}

void scratch_free(void *memory)
{
    uint8_t *p = memory;

    if (scratch.size == 0 || p < scratch.data ||
        p >= scratch.data + scratch.size) {
        free(memory);
    }
}
