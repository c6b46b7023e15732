/*
 * Copyright (C) the ngx_symcache authors
 *
 * An output that stays in memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct memory_output {
    uint8_t *data; /* the caller frees it */
    size_t size;
    size_t room;
};

/* Appends; a function for a sink whose context is the struct.  Returns 0, or
 * -1 when out of memory. */
int memory_output_write(void *context, const void *data, size_t size);
