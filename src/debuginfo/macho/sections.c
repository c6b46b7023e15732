/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sections.h"

#include <string.h>

#include "debuginfo/supplement.h"

#define SEGMENT_32 56 /* bytes of the command, and of a section's header */
#define SECTION_32 68
#define SEGMENT_64 72
#define SECTION_64 80

#define SYMTAB_COMMAND 24
#define NLIST_32 12
#define NLIST_64 16

#define SECTION_TYPE 0xFF
#define ZEROFILL 0x1 /* types without content */
#define GB_ZEROFILL 0xC
#define THREAD_LOCAL_ZEROFILL 0x12

bool macho_name_is(const char *stored, const char *name)
{
    size_t size = strlen(name);

    return strnlen(stored, MACHO_NAME) == size &&
           memcmp(stored, name, size) == 0;
}

int macho_segment_read(const struct macho_image *image,
                       const struct macho_command *command,
                       struct macho_segment *segment)
{
    const uint8_t *p = command->data;
    bool is_64 = command->type == MACHO_SEGMENT_64;

    if (!is_64 && command->type != MACHO_SEGMENT) {
        return 0;
    }
    if (command->rest < (is_64 ? SEGMENT_64 : SEGMENT_32)) {
        return -1;
    }
    segment->name = (const char *)p + 8;
    if (is_64) {
        segment->address = macho_u64(image, p + 24);
        segment->offset = macho_u64(image, p + 40);
        segment->file_size = macho_u64(image, p + 48);
        segment->num_sections = macho_u32(image, p + 64);
    } else {
        segment->address = macho_u32(image, p + 24);
        segment->offset = macho_u32(image, p + 32);
        segment->file_size = macho_u32(image, p + 36);
        segment->num_sections = macho_u32(image, p + 48);
    }
    /* the reference goes by the image here, whatever the command is */
    segment->sections = (size_t)(p - image->data) +
                        (image->is_64 ? SEGMENT_64 : SEGMENT_32);
    return 1;
}

bool macho_segment_in_file(const struct macho_image *image,
                           const struct macho_segment *segment)
{
    return segment->file_size == 0 ||
           (segment->offset < image->size &&
            segment->file_size <= image->size - segment->offset);
}

bool macho_symbols_are_cut(const struct macho_image *image,
                           const struct macho_command *command)
{
    uint32_t count;

    if (image->file_type != MACHO_OBJECT || command->type != MACHO_SYMTAB ||
        command->rest < SYMTAB_COMMAND) {
        return false;
    }
    count = macho_u32(image, command->data + 12);
    return (uint64_t)macho_u32(image, command->data + 8) +
                   (uint64_t)count * (image->is_64 ? NLIST_64 : NLIST_32) >
               image->size ||
           (count > 0 && (uint64_t)macho_u32(image, command->data + 16) +
                                 macho_u32(image, command->data + 20) >
                             image->size);
}

bool macho_section_read(const struct macho_image *image,
                        const struct macho_segment *segment, uint32_t i,
                        struct macho_section *section)
{
    const uint8_t *p;
    uint64_t header = image->is_64 ? SECTION_64 : SECTION_32;
    uint64_t at = segment->sections + i * header;

    if (at > image->size || image->size - at < header) {
        return false;
    }
    p = image->data + at;
    section->name = (const char *)p;
    if (image->is_64) {
        section->address = macho_u64(image, p + 32);
        section->size = macho_u64(image, p + 40);
        section->offset = macho_u32(image, p + 48);
        section->flags = macho_u32(image, p + 64);
    } else {
        section->address = macho_u32(image, p + 32);
        section->size = macho_u32(image, p + 36);
        section->offset = macho_u32(image, p + 40);
        section->flags = macho_u32(image, p + 56);
    }
    return true;
}

uint64_t macho_load_address(const struct macho_image *image)
{
    struct macho_command command = {.next = 0};
    struct macho_segment segment;

    while (macho_image_command(image, &command)) {
        if (macho_segment_read(image, &command, &segment) > 0 &&
            macho_name_is(segment.name, "__TEXT")) {
            return segment.address;
        }
    }
    return 0;
}

/* Returns the bytes at an offset, or NULL if some are outside of the file. */
static const uint8_t *macho_section_at(const struct macho_image *image,
                                       uint64_t offset, uint64_t size)
{
    if (offset > image->size || size > image->size - offset) {
        return NULL;
    }
    return image->data + offset;
}

/* The offset in a section's header has only 32 bits.  Files of more than 4 GiB
 * need what their segment says. */
static struct dwarf_section
macho_section_content(const struct macho_image *image,
                      const struct macho_segment *segment,
                      const struct macho_section *section)
{
    uint32_t type = section->flags & SECTION_TYPE;
    uint64_t offset = section->address - segment->address + segment->offset;
    const uint8_t *p = NULL;
    struct dwarf_section found = {image->data, 0};

    if (image->is_64 && section->address >= segment->address &&
        section->address - segment->address <= UINT64_MAX - segment->offset) {
        p = macho_section_at(image, offset, section->size);
    }
    if (p == NULL && type != ZEROFILL && type != GB_ZEROFILL &&
        type != THREAD_LOCAL_ZEROFILL) {
        p = macho_section_at(image, section->offset, section->size);
    }
    if (p != NULL) {
        found.data = p;
        found.size = (size_t)section->size;
    }
    return found;
}

/* Is the name of a section this one after two underscores, or after "__z", as
 * Go's linker names those that it has compressed?  Names have at most 16
 * characters, and are cut there. */
static bool macho_section_is_named(const char *stored, const char *name,
                                   bool *is_compressed)
{
    size_t prefix, size;

    *is_compressed = stored[2] == 'z' && !supplement_get()->is_like_symbolic;
    prefix = *is_compressed ? 3 : 2;
    size = strnlen(name, MACHO_NAME - prefix);
    return strnlen(stored, MACHO_NAME) == prefix + size &&
           memcmp(stored, "__", 2) == 0 &&
           memcmp(stored + prefix, name, size) == 0;
}

struct dwarf_found macho_section_find(const struct macho_image *image,
                                      const char *name)
{
    uint32_t i;
    uint64_t most = image->size / MACHO_SECTION_MIN * MACHO_TIMES;
    struct dwarf_found found = {.is_compressed = false};
    struct macho_command command = {.next = 0};
    struct macho_section section;
    struct macho_segment segment;

    while (macho_image_command(image, &command)) {
        if (macho_segment_read(image, &command, &segment) <= 0) {
            continue;
        }
        for (i = 0; i < segment.num_sections; i++) {
            if (most-- == 0 ||
                !macho_section_read(image, &segment, i, &section)) {
                return found;
            }
            if (macho_section_is_named(section.name, name,
                                       &found.is_compressed)) {
                found.address = section.address;
                if (section.offset != 0) {
                    found.section =
                        macho_section_content(image, &segment, &section);
                }
                return found;
            }
        }
    }
    return found;
}
