/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a decorated name.  The readable name must be inside the buffer
 * or be the decorated name itself.
 */
#include <stdlib.h>

#include "symbolication/symbolication.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char room[DEMANGLE_ROOM];
    struct symc_string name, readable;

    name.data = (const char *)data;
    name.size = size;
    if (!demangle(&name, SYMC_NONE, room, &readable) &&
        (readable.data != name.data || readable.size != size)) {
        abort();
    }
    return 0;
}
