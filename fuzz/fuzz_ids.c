/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: id records, as names of inlined functions are made of them.
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
    image.parts[IMAGE_IDS].data = data;
    image.parts[IMAGE_IDS].size = (uint32_t)size;
    image_convert(&image);
    return 0;
}
