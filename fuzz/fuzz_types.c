/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: type records, as names of functions are made of them.
 */
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_convert_part(IMAGE_TYPES, data, size);
    return 0;
}
