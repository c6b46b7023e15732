/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: id records, as names of inlined functions are made of them.
 */
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_convert_part(IMAGE_IDS, data, size);
    return 0;
}
