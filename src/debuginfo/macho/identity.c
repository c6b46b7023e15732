/*
 * Copyright (C) the ngx_symcache authors
 */
#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"
#include "image.h"
#include "sections.h"

#define FAT_MAGIC "\xCA\xFE\xBA\xBE"
#define FAT_HEADER 8
#define FAT_ARCH 20
#define SYMTAB 24 /* bytes of the load command */

/* Fat headers are big-endian on all machines. */
static uint32_t be32(const uint8_t *p)
{
    return byte_order_32(p, true);
}

static bool is_fat(const uint8_t *data, size_t size)
{
    return size >= FAT_HEADER && memcmp(data, FAT_MAGIC, 4) == 0 &&
           be32(data + 4) <= MACHO_SLICES_MAX;
}

bool macho_sniff(const uint8_t *data, size_t size)
{
    return is_fat(data, size) || macho_image_sniff(data, size);
}

static bool identity_has_symbols(const struct macho_image *image)
{
    struct macho_command command = {.next = 0};

    while (macho_image_command(image, &command)) {
        if (command.type == MACHO_SYMTAB && command.rest >= SYMTAB) {
            return macho_u32(image, command.data + 12) > 0;
        }
    }
    return false;
}

/* Does the file end before its segments do, or the symbols of an object? */
static bool identity_is_cut(const struct macho_image *image)
{
    struct macho_command command = {.next = 0};
    struct macho_segment segment;

    while (macho_image_command(image, &command)) {
        if ((macho_segment_read(image, &command, &segment) > 0 &&
             !macho_segment_in_file(image, &segment)) ||
            macho_symbols_are_cut(image, &command)) {
            return true;
        }
    }
    return false;
}

static int identity_read_slice(const uint8_t *data, struct macho_slice *slice,
                               char *error, size_t error_size)
{
    struct macho_image image;

    if (macho_image_open(&image, data + slice->offset, (size_t)slice->size,
                         error, error_size) != 0) {
        return -1;
    }
    slice->is_sound = true;
    slice->is_cut = identity_is_cut(&image);
    slice->arch = macho_arch(image.cpu_type, image.cpu_subtype);
    slice->file_type = image.file_type;
    slice->is_dsym = image.file_type == MACHO_DSYM;
    slice->has_debug_info =
        macho_section_find(&image, "debug_info").section.data != NULL;
    slice->has_symbols = identity_has_symbols(&image);
    slice->has_unwind_info =
        macho_section_find(&image, "unwind_info").section.size > 0 ||
        macho_section_find(&image, "eh_frame").section.size > 0 ||
        macho_section_find(&image, "debug_frame").section.size > 0;
    slice->has_uuid = macho_image_uuid(&image, slice->uuid);
    return 0;
}

/* The part of a slice outside the file is left out, as the reference does. */
static uint64_t identity_within(uint64_t offset, size_t size)
{
    return offset < size ? offset : size;
}

int macho_identity_read(const uint8_t *data, size_t size,
                        struct macho_identity *identity, char *error,
                        size_t error_size)
{
    const uint8_t *p;
    struct macho_slice *slice;
    uint64_t end, last = 0;
    char wrong[200];
    unsigned i;

    memset(identity, 0, sizeof(*identity));
    identity->is_fat = is_fat(data, size);
    if (!identity->is_fat) {
        identity->num_slices = 1;
        identity->slices[0].size = size;
        return identity_read_slice(data, identity->slices, error, error_size);
    }
    identity->num_slices = be32(data + 4);
    if (identity->num_slices == 0 ||
        (size - FAT_HEADER) / FAT_ARCH < identity->num_slices) {
        snprintf(error, error_size, "is damaged: %s",
                 identity->num_slices == 0 ? "a fat file without a slice"
                                           : "its fat header is cut off");
        return -1;
    }
    for (i = 0; i < identity->num_slices; i++) {
        slice = &identity->slices[i];
        p = data + FAT_HEADER + (size_t)i * FAT_ARCH;
        end = (uint64_t)be32(p + 8) + be32(p + 12);
        last = end > last ? end : last;
        slice->offset = identity_within(be32(p + 8), size);
        slice->size = identity_within(end, size) - slice->offset;
        slice->arch = macho_arch(be32(p), be32(p + 4));
        identity_read_slice(data, slice, wrong, sizeof(wrong));
    }
    for (i = 0; i < identity->num_slices; i++) {
        identity->slices[i].is_cut |= last > size;
    }
    return 0;
}
