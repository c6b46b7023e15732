/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the identities in a Mach-O file.
 */
#include <stdlib.h>

#include "debuginfo/macho/macho.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[200] = "";
    struct macho_identity identity;
    const struct macho_slice *slice;
    unsigned i;

    if (macho_identity_read(data, size, &identity, error, sizeof(error)) !=
        0) {
        if (error[0] == '\0') {
            abort(); /* refused without a reason */
        }
        return 0;
    }
    if (!macho_sniff(data, size)) {
        abort();
    }
    for (i = 0; i < identity.num_slices; i++) {
        slice = &identity.slices[i];
        if (slice->offset > size || slice->size > size - slice->offset ||
            (slice->has_uuid && !slice->is_sound)) {
            abort();
        }
    }
    return 0;
}
