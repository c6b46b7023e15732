/*
 * Copyright (C) the ngx_symcache authors
 *
 * The instructions that are in a Mach-O image.
 */
#include "macho.h"

#include <string.h>

#include "debuginfo/machine_code.h"
#include "image.h"
#include "sections.h"

/* Flags of sections with instructions (mach-o/loader.h). */
#define PURE_INSTRUCTIONS 0x80000000u
#define SOME_INSTRUCTIONS 0x00000400u

/* Adds the sections of a segment with instructions.  Those of a dSYM have
 * headers, and no bytes in the file. */
static int instruction_segment(const struct macho_image *image,
                               const struct macho_segment *segment,
                               uint64_t load_address, struct code *code)
{
    uint32_t i;
    struct macho_section s;

    for (i = 0; i < segment->num_sections &&
                macho_section_read(image, segment, i, &s);
         i++) {
        if (s.flags & (PURE_INSTRUCTIONS | SOME_INSTRUCTIONS) &&
            s.offset != 0 &&
            code_add(code, s.address - load_address, image->data, image->size,
                     s.offset, s.size) != 0) {
            return -1;
        }
    }
    return 0;
}

static int instruction_image(const struct macho_image *image,
                             struct code *code)
{
    uint64_t load_address = macho_load_address(image);
    struct macho_command command = {.next = 0};
    struct macho_segment segment;

    memset(code, 0, sizeof(*code));
    code->arch = macho_arch(image->cpu_type, image->cpu_subtype);
    code->is_big = image->is_big_endian;
    while (macho_image_command(image, &command)) {
        if (macho_segment_read(image, &command, &segment) == 1 &&
            instruction_segment(image, &segment, load_address, code) != 0) {
            return -1;
        }
    }
    return 0;
}

int macho_code_convert(const uint8_t *data, size_t size,
                       const struct symc_sink *sink,
                       struct debuginfo_result *result,
                       struct failure *failure)
{
    struct macho_image image;
    struct code code;

    if (macho_open_valid(&image, data, size, failure) != 0) {
        return -1;
    }
    macho_image_uuid(&image, result->guid);
    if (instruction_image(&image, &code) != 0) {
        code_free(&code);
        return failure_memory(failure);
    }
    return code_write(&code, size, sink, result, failure);
}
