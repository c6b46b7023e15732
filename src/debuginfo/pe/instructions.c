/*
 * Copyright (C) the ngx_symcache authors
 */
#include "instructions.h"

#include <string.h>

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
