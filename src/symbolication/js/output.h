/*
 * Copyright (C) the ngx_symcache authors
 *
 * Text that is written piece by piece into a buffer, as far as it fits.
 */
#pragma once

#include <stddef.h>
#include <string.h>

struct js_output {
    char *data;
    size_t room;
    size_t size; /* of the text; the part beyond room is not written */
};

static inline void js_put(struct js_output *out, const void *data, size_t size)
{
    if (out->size < out->room && size > 0) {
        memcpy(out->data + out->size, data,
               size < out->room - out->size ? size : out->room - out->size);
    }
    out->size += size;
}
