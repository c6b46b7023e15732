/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: type records, as names of functions are made of them.
 */
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image;

    if (size > 0xFFFF) {
        return 0;
    }
    image_init(&image);
    image.parts[IMAGE_TYPES].data = data;
    image.parts[IMAGE_TYPES].size = (uint32_t)size;
    image_convert(&image);
    return 0;
}
