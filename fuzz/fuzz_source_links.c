/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the JSON of source links.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/sourcelink/sourcelink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct source_links links = {0};
    struct failure failure = {FAILURE_NONE, ""};

    if (source_links_add(&links, data, size, &failure) != 0 &&
        (failure.text[0] == '\0' || links.count != 0)) {
        abort();
    }
    source_links_free(&links);
    return 0;
}
