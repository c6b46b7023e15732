/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the DBI stream, in an image that is otherwise sound.
 */
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_convert_part(IMAGE_DBI, data, size);
    return 0;
}
