/*
 * Copyright (C) the ngx_symcache authors
 */
#include "memory_output.h"

#include <string.h>

#include "array.h"

int memory_output_write(void *context, const void *data, size_t size)
{
    struct memory_output *m = context;

    if (size == 0) {
        return 0; /* the data may be NULL */
    }
    if (size > SIZE_MAX - m->size ||
        array_need(&m->data, &m->room, m->size + size, 1) != 0) {
        return -1;
    }
    memcpy(m->data + m->size, data, size);
    m->size += size;
    return 0;
}
