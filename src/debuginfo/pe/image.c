/*
 * Copyright (C) the ngx_symcache authors
 */
#include "image.h"

#include <stdio.h>
#include <string.h>

#include "base/le.h"
#include "derived/symcache/symcache.h"

#define DOS_NEW_HEADER 0x3C
#define COFF_SECTIONS 2
#define COFF_TIME_STAMP 4
#define COFF_SYMBOLS 8
#define COFF_NUM_SYMBOLS 12
#define COFF_OPTIONAL_SIZE 16
#define COFF_HEADER 20
#define COFF_SYMBOL 18
#define MAGIC_PE32 0x10B
#define MAGIC_PE32_PLUS 0x20B
#define FILE_ALIGNMENT 36
#define IMAGE_SIZE 56
#define SECTION 40
#define DIRECTORIES_MAX 16
#define DISK_SECTOR 0x200
#define PAGE 0x1000

static int fail_image(char *error, size_t size, const char *text)
{
    snprintf(error, size, "%s", text);
    return -1;
}

static bool is_dos(const uint8_t *data, size_t size)
{
    return size >= DOS_NEW_HEADER + 4 && data[0] == 'M' && data[1] == 'Z';
}

bool pe_sniff(const uint8_t *data, size_t size)
{
    uint64_t header;

    if (!is_dos(data, size)) {
        return false;
    }
    header = le32(data + DOS_NEW_HEADER);
    return header + 4 <= size && memcmp(data + header, "PE\0\0", 4) == 0;
}

const uint8_t *pe_image_at(const struct pe_image *image, uint64_t offset,
                           uint64_t size)
{
    if (offset > image->size || size > image->size - offset) {
        return NULL;
    }
    return image->data + offset;
}

/* Reads the optional header, which every image has, of this size. */
static int read_optional(struct pe_image *image, const uint8_t *p,
                         unsigned size)
{
    bool is_plus = le16(p) == MAGIC_PE32_PLUS;
    unsigned count = is_plus ? 108 : 92; /* where the directories are counted */

    if ((!is_plus && le16(p) != MAGIC_PE32) || count + 4 > size) {
        return -1;
    }
    image->file_alignment = le32(p + FILE_ALIGNMENT);
    image->image_size = le32(p + IMAGE_SIZE);
    image->image_base = is_plus ? le64(p + 24) : le32(p + 28);
    image->directories = p + count + 4;
    image->num_directories = (size - count - 4) / 8;
    if (image->num_directories > DIRECTORIES_MAX) {
        image->num_directories = DIRECTORIES_MAX;
    }
    if (image->num_directories > le32(p + count)) {
        image->num_directories = le32(p + count);
    }
    return 0;
}

int pe_image_open(struct pe_image *image, const uint8_t *data, size_t size,
                  char *error, size_t error_size)
{
    const uint8_t *p;
    uint64_t header;
    unsigned optional;

    memset(image, 0, sizeof(*image));
    image->data = data;
    image->size = size;
    if (!pe_sniff(data, size)) {
        return fail_image(error, error_size,
                          is_dos(data, size)
                              ? "is not a PE image: a program for DOS"
                              : "is not a PE image");
    }
    header = le32(data + DOS_NEW_HEADER);
    p = pe_image_at(image, header, 4 + COFF_HEADER);
    if (p == NULL) {
        return fail_image(error, error_size,
                          "is damaged: its headers are cut off");
    }
    p += 4;
    image->machine = le16(p);
    image->num_sections = le16(p + COFF_SECTIONS);
    image->time_stamp = le32(p + COFF_TIME_STAMP);
    image->strings = le32(p + COFF_SYMBOLS) +
                     (uint64_t)le32(p + COFF_NUM_SYMBOLS) * COFF_SYMBOL;
    optional = le16(p + COFF_OPTIONAL_SIZE);
    header += 4 + COFF_HEADER;
    image->sections = (size_t)(header + optional);
    p = pe_image_at(image, header, optional);
    if (p == NULL || optional < 2 ||
        pe_image_at(image, image->sections,
                    (uint64_t)image->num_sections * SECTION) == NULL) {
        return fail_image(error, error_size,
                          "is damaged: its headers are cut off");
    }
    if (read_optional(image, p, optional) != 0) {
        return fail_image(error, error_size,
                          "is damaged: no optional header of PE32");
    }
    return 0;
}

void pe_image_section(const struct pe_image *image, unsigned i,
                      struct pe_section *section)
{
    const uint8_t *p = image->data + image->sections + (size_t)i * SECTION;

    section->name = p;
    section->virtual_size = le32(p + 8);
    section->address = le32(p + 12);
    section->raw_size = le32(p + 16);
    section->raw = le32(p + 20);
    section->flags = le32(p + 36);
}

const uint8_t *pe_image_loaded(const struct pe_image *image, uint32_t address,
                               uint32_t size)
{
    struct pe_section section;
    uint32_t from;
    unsigned i;

    for (i = 0; i < image->num_sections; i++) {
        pe_image_section(image, i, &section);
        from = address - section.address;
        if (address >= section.address && from < section.raw_size &&
            size <= section.raw_size - from) {
            return pe_image_at(image, (uint64_t)section.raw + from, size);
        }
    }
    return NULL;
}

static uint64_t image_round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) & ~(to - 1);
}

/* Returns how many bytes of a section Windows loads from the file. */
static uint64_t image_loaded_size(const struct pe_section *section,
                                  uint32_t alignment)
{
    uint64_t size, most;

    if (section->raw_size == 0) {
        return 0;
    }
    size =
        image_round_up((uint64_t)section->raw + section->raw_size, alignment) -
        (section->raw & ~(uint32_t)(DISK_SECTOR - 1));
    most = image_round_up(section->raw_size, PAGE);
    size = size < most ? size : most;
    most = image_round_up(section->virtual_size, PAGE);
    return section->virtual_size == 0 || size < most ? size : most;
}

bool pe_image_part(const struct pe_image *image, uint32_t address,
                   struct pe_part *part)
{
    unsigned i;
    uint64_t begin, end;
    struct pe_section section;
    uint32_t alignment = image->file_alignment;

    part->begin = 0;
    part->end = (uint64_t)UINT32_MAX + 1;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return false;
    }
    for (i = 0; i < image->num_sections; i++) {
        pe_image_section(image, i, &section);
        begin = section.address;
        end = begin + image_loaded_size(&section, alignment);
        if (address >= begin && address < end) {
            part->begin = begin > part->begin ? begin : part->begin;
            part->end = end < part->end ? end : part->end;
            part->offset = section.raw + (part->begin - begin);
            return true;
        }
        /* the first section counts where several overlap */
        if (begin > address && begin < part->end) {
            part->end = begin;
        } else if (end <= address && end > part->begin) {
            part->begin = end;
        }
    }
    return false;
}

uint64_t pe_image_offset(const struct pe_image *image, uint32_t address)
{
    struct pe_part part;

    return pe_image_part(image, address, &part)
               ? part.offset + (address - part.begin)
               : PE_NO_OFFSET;
}

bool pe_image_directory(const struct pe_image *image,
                        enum pe_directory directory, uint32_t *address,
                        uint32_t *size)
{
    if (image->num_directories <= (unsigned)directory) {
        return false;
    }
    *address = le32(image->directories + 8 * directory);
    *size = le32(image->directories + 8 * directory + 4);
    return *address != 0;
}

uint32_t pe_image_arch(const struct pe_image *image)
{
    switch (image->machine) {
    case 0x14C:
        return SYMC_ARCH_X86;
    case 0x8664:
        return SYMC_ARCH_AMD64;
    case 0x1C0:
        return SYMC_ARCH_ARM;
    case 0xAA64:
        return SYMC_ARCH_ARM64;
    case 0x1F0:
        return SYMC_ARCH_PPC;
    default:
        return SYMC_ARCH_UNKNOWN;
    }
}
