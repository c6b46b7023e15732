/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sections.h"

#include <string.h>

#include "base/le.h"
#include "base/utf8.h"
#include "debuginfo/supplement.h"

#define NAME 8

static int section_digit(uint8_t c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* Reads the index in "/123" or, in base 64, "//AAAAAB".  Returns 1, 0 if the
 * name is none of these, or -1 if it is broken. */
static int section_index(const uint8_t *name, uint64_t *index)
{
    size_t i, size = strnlen((const char *)name, NAME);
    bool is_64 = size > 1 && name[1] == '/';
    int digit;

    *index = 0;
    if (size == 0 || name[0] != '/' || utf8_valid(name, size) != size) {
        return 0;
    }
    i = is_64 ? 2 : 1;
    i += !is_64 && size > 2 && name[1] == '+';
    if (!is_64 && i >= size) {
        return -1;
    }
    for (; i < size; i++) {
        digit = is_64
                    ? section_digit(name[i])
                    : (name[i] >= '0' && name[i] <= '9' ? name[i] - '0' : -1);
        if (digit < 0) {
            return -1;
        }
        *index = *index * (is_64 ? 64 : 10) + (unsigned)digit;
    }
    return 1;
}

/* Are the long names of sections in the file, behind all of them, if there are
 * any? */
static bool section_has_strings(const struct pe_image *image)
{
    const uint8_t *size = pe_image_at(image, image->strings, 4);

    return image->strings == 0 ||
           (size != NULL &&
            pe_image_at(image, image->strings, le32(size)) != NULL);
}

bool pe_sections_are_cut(const struct pe_image *image)
{
    struct pe_section section;
    uint32_t size;
    unsigned i;

    for (i = 0; i < image->num_sections; i++) {
        pe_image_section(image, i, &section);
        size = section.virtual_size != 0 &&
                       section.virtual_size < section.raw_size
                   ? section.virtual_size
                   : section.raw_size;
        if (section.raw != 0 &&
            pe_image_at(image, section.raw, size) == NULL) {
            return true;
        }
        if (section.name[0] == '/' && !section_has_strings(image)) {
            return true;
        }
    }
    return false;
}

int pe_open_valid(struct pe_image *image, const uint8_t *data, size_t size,
                  struct failure *failure)
{
    char error[200];
    uint64_t index;
    unsigned i;
    struct pe_section section;

    if (pe_image_open(image, data, size, error, sizeof(error)) != 0) {
        return failure_set(failure, FAILURE_DAMAGED, "%s", error);
    }
    for (i = 0; i < image->num_sections; i++) {
        pe_image_section(image, i, &section);
        if (section_index(section.name, &index) < 0) {
            return failure_set(failure, FAILURE_DAMAGED,
                               "is damaged: section %u has no index into the "
                               "string table for a name",
                               i + 1);
        }
    }
    /* of which the reference takes what there is */
    return !supplement_get()->is_like_symbolic && pe_sections_are_cut(image)
               ? failure_set(failure, FAILURE_TRUNCATED,
                             "is truncated: it ends before its sections do")
               : 0;
}

/* Is the name of a section this one after a dot, or after ".z", as Go's linker
 * names those that it has compressed? */
static bool section_is_named(const struct pe_image *image,
                             const uint8_t *stored, const char *name,
                             bool *is_compressed)
{
    uint64_t index;
    size_t size = strlen(name), room = NAME;
    const uint8_t *text = stored;

    if (section_index(stored, &index) > 0) {
        text = pe_image_at(image, image->strings + index, 1);
        if (text == NULL) {
            return false;
        }
        room = image->size - (size_t)(text - image->data);
    }
    if (room < 2 || text[0] != '.') {
        return false;
    }
    *is_compressed = text[1] == 'z' && !supplement_get()->is_like_symbolic;
    text += *is_compressed ? 2 : 1;
    room -= *is_compressed ? 2 : 1;
    return room >= size && memcmp(text, name, size) == 0 &&
           (room == size || text[size] == '\0');
}

struct dwarf_found pe_section_find(const struct pe_image *image,
                                   const char *name)
{
    unsigned i;
    struct pe_section section;
    struct dwarf_found found = {.is_compressed = false};

    for (i = 0; i < image->num_sections; i++) {
        pe_image_section(image, i, &section);
        if (section_is_named(image, section.name, name,
                             &found.is_compressed)) {
            /* the size in memory: in the file it is rounded up */
            found.section.data =
                pe_image_at(image, section.raw, section.virtual_size);
            found.section.size =
                found.section.data != NULL ? section.virtual_size : 0;
            break;
        }
    }
    return found;
}
