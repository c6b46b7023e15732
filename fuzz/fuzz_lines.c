/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the C13 part of a module: lines, files, inlinees, imports.
 */
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_convert_part(IMAGE_LINES, data, size);
    return 0;
}
