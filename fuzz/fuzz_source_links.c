/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the JSON of source links, and behind a NUL a path.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/sourcelink/sourcelink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t json = size > 0 ? strnlen((const char *)data, size) : 0;
    size_t path = json < size ? json + 1 : size;
    struct source_links links = {0};
    struct failure failure = {FAILURE_NONE, ""};

    if (source_links_add(&links, data, json, &failure) == 0) {
        free(source_links_url(&links, (const char *)data + path,
                              size - path));
    } else if (failure.text[0] == '\0' || links.count != 0) {
        abort();
    }
    source_links_free(&links);
    return 0;
}
