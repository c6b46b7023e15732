/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the identities in a PE image, and its conversion.
 */
#include <stdlib.h>
#include <string.h>

#include "debuginfo/pe/pe.h"
#include "image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[200] = "";
    struct pe_identity id;
    struct pe_code code;
    struct debuginfo_result result = {0};
    bool has_code =
        pe_code_read(data, size, &code, error, sizeof(error)) == 0;

    if (!has_code && error[0] == '\0') {
        abort();
    }
    if (image_check(pe_format.makes, data, size, &result) == 0 &&
        (!has_code || result.age != code.debug_id.age ||
         memcmp(result.guid, code.debug_id.guid, sizeof(result.guid)) != 0)) {
        abort(); /* both readers must agree on the identity */
    }
    error[0] = '\0';
    if (pe_identity_read(data, size, &id, error, sizeof(error)) != 0) {
        if (error[0] == '\0') {
            abort(); /* refused without a reason */
        }
    } else if (!has_code || id.name_size == 0 || id.name < (const char *)data ||
               id.name + id.name_size >= (const char *)data + size ||
               memchr(id.name, '/', id.name_size) != NULL ||
               memchr(id.name, '\\', id.name_size) != NULL) {
        abort();
    }
    return 0;
}
