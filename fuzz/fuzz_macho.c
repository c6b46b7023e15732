/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the identities in a Mach-O file, and the conversion of each of
 * its images.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/macho/macho.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[200] = "";
    struct macho_identity identity;
    const struct macho_slice *slice;
    struct debuginfo_result result = {0};
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
        if (image_check(macho_format.makes, data + slice->offset,
                        (size_t)slice->size, &result) == 0 &&
            (!slice->is_sound ||
             memcmp(result.guid, slice->uuid, sizeof(result.guid)) != 0)) {
            abort(); /* both readers must agree on the identity */
        }
    }
    return 0;
}
