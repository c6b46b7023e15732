/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: names of Swift, behind their prefix, in both forms.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolication/swift/swift.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *name = malloc(size + 2), *room = malloc(4096);

    if (name == NULL || room == NULL) {
        abort();
    }
    memcpy(name, "$s", 2);
    memcpy(name + 2, data, size);
    if (swift_demangle(name, size + 2, false, room, 4096) > 4096 ||
        swift_demangle(name, size + 2, true, room, 4096) > 4096) {
        abort();
    }
    free(name);
    free(room);
    return 0;
}
