/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the source server stream.
 */
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_convert_part(IMAGE_SRCSRV, data, size);
    return 0;
}
