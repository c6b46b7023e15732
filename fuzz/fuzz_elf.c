/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: an ELF file as it comes, its identity and its conversion.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/elf/elf.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int rc;
    uint64_t offset, length;
    char error[200] = "";
    struct elf_identity identity;
    struct debuginfo_result result = {0};

    rc = elf_identity_read(data, size, &identity, error, sizeof(error));
    if ((rc == 0) != (error[0] == '\0')) {
        abort(); /* a failure has a reason */
    }
    if (rc == 0 && identity.build_id_size > 0 &&
        (identity.build_id < data ||
         identity.build_id_size > size - (size_t)(identity.build_id - data))) {
        abort(); /* the build id is a part of the file */
    }
    if (elf_section_find(data, size, ".text", &offset, &length) == NULL &&
        (length == 0 || offset > size || length > size - offset)) {
        abort(); /* so is a section, and not without bytes */
    }
    if (image_check(elf_format.makes, data, size, &result) == 0 &&
        (rc != 0 || memcmp(result.guid, identity.guid, 16) != 0)) {
        abort(); /* both must agree whose file it is */
    }
    return 0;
}
