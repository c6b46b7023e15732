/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the info stream with its table of named streams.
 */
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_convert_part(IMAGE_INFO, data, size);
    return 0;
}
