/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pe.h"

#include <string.h>

#include "identity.h"
#include "image.h"

#define SECTION_CODE 0x20 /* IMAGE_SCN_CNT_CODE */

int pe_instructions_read(const uint8_t *data, size_t size, struct code *code)
{
    unsigned i;
    char error[200];
    struct pe_image image;
    struct pe_section s;

    memset(code, 0, sizeof(*code));
    if (pe_image_open(&image, data, size, error, sizeof(error)) != 0) {
        return 0;
    }
    code->arch = pe_image_arch(&image);
    for (i = 0; i < image.num_sections; i++) {
        pe_image_section(&image, i, &s);
        if ((s.flags & SECTION_CODE) != 0 &&
            code_add(code, s.address, data, size, s.raw,
                     s.virtual_size != 0 && s.virtual_size < s.raw_size
                         ? s.virtual_size
                         : s.raw_size) != 0) {
            return -1;
        }
    }
    return 0;
}

int pe_code_convert(const uint8_t *data, size_t size,
                    const struct symc_sink *sink,
                    struct debuginfo_result *result, struct failure *failure)
{
    char error[200];
    struct pe_image image;
    struct pe_debug_id id;
    struct code code;

    if (pe_image_open(&image, data, size, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    pe_debug_id(&image, &id);
    memcpy(result->guid, id.guid, sizeof(result->guid));
    result->age = id.age;
    if (pe_instructions_read(data, size, &code) != 0 ||
        /* Windows runs nothing but Thumb on 32-bit ARM */
        (code.arch == SYMC_ARCH_ARM &&
         code_mark(&code, 0, CODECACHE_THUMB) != 0)) {
        code_free(&code);
        return failure_memory(failure);
    }
    return code_write(&code, size, sink, result, failure);
}
