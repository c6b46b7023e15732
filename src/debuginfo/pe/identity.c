/*
 * Copyright (C) the ngx_symcache authors
 */

#include "identity.h"

#include <stdio.h>
#include <string.h>

#include "base/le.h"

#define DOS_NEW_HEADER 0x3C
#define COFF_SECTIONS 2
#define COFF_OPTIONAL_SIZE 16
#define COFF_HEADER 20
#define MAGIC_PE32 0x10B
#define MAGIC_PE32_PLUS 0x20B
#define DIRECTORY_DEBUG 6
#define SECTION 40
#define DEBUG_ENTRY 28
#define DEBUG_ENTRIES_MAX 256 /* real images have less than ten */
#define TYPE_CODEVIEW 2
#define PORTABLE_MINOR 0x504D
#define RSDS_NAME 24

struct image {
    const uint8_t *data;
    size_t size;
    size_t sections; /* offset of the table */
    unsigned num_sections;
    uint32_t debug; /* address of the debug directory, and its size */
    uint32_t debug_size;
};

static int fail(char *error, size_t size, const char *text)
{
    snprintf(error, size, "%s", text);
    return -1;
}

/* Returns size bytes at an offset, or NULL if some are outside of the file. */
static const uint8_t *at(const struct image *image, uint64_t offset,
                         uint64_t size)
{
    if (offset > image->size || size > image->size - offset) {
        return NULL;
    }
    return image->data + offset;
}

static int read_headers(struct image *image, char *error, size_t size)
{
    const uint8_t *p;
    uint64_t header;
    unsigned directories, optional;

    p = at(image, 0, DOS_NEW_HEADER + 4);
    if (p == NULL || p[0] != 'M' || p[1] != 'Z') {
        return fail(error, size, "is no PE image");
    }
    header = le32(p + DOS_NEW_HEADER);
    p = at(image, header, 4 + COFF_HEADER);
    if (p == NULL || memcmp(p, "PE\0\0", 4) != 0) {
        return fail(error, size, "is no PE image: a program for DOS");
    }
    p += 4;
    image->num_sections = le16(p + COFF_SECTIONS);
    optional = le16(p + COFF_OPTIONAL_SIZE);
    header += 4 + COFF_HEADER;
    image->sections = (size_t)(header + optional);
    p = at(image, header, optional);
    if (p == NULL || optional < 2 ||
        at(image, image->sections, (uint64_t)image->num_sections * SECTION) ==
            NULL) {
        return fail(error, size, "is damaged: its headers are cut off");
    }
    directories = le16(p) == MAGIC_PE32        ? 92
                  : le16(p) == MAGIC_PE32_PLUS ? 108
                                               : optional;
    if (directories + 4 > optional) {
        return fail(error, size, "is damaged: no optional header of PE32");
    }
    if (le32(p + directories) <= DIRECTORY_DEBUG ||
        directories + 4 + 8 * (DIRECTORY_DEBUG + 1) > optional) {
        return fail(error, size, "has no debug directory");
    }
    p += directories + 4 + 8 * DIRECTORY_DEBUG;
    image->debug = le32(p);
    image->debug_size = le32(p + 4);
    return image->debug != 0 ? 0 : fail(error, size, "has no debug directory");
}

/* Returns the bytes of the file that are loaded at an address, or NULL. */
static const uint8_t *loaded(const struct image *image, uint32_t address,
                             uint32_t size)
{
    const uint8_t *p;
    uint32_t start, raw_size;
    unsigned i;

    for (i = 0; i < image->num_sections; i++) {
        p = image->data + image->sections + i * SECTION;
        start = le32(p + 12);
        raw_size = le32(p + 16);
        if (address >= start && address - start < raw_size &&
            size <= raw_size - (address - start)) {
            return at(image, (uint64_t)le32(p + 20) + (address - start), size);
        }
    }
    return NULL;
}

/* Reads the name of the PDB, which is behind the last slash or backslash. */
static int read_name(const uint8_t *path, size_t size,
                     struct pe_identity *identity)
{
    size_t i, begin, end;

    end = strnlen((const char *)path, size);
    begin = 0;
    for (i = 0; i < end; i++) {
        if (path[i] == '\\' || path[i] == '/') {
            begin = i + 1;
        }
    }
    identity->name = (const char *)path + begin;
    identity->name_size = end - begin;
    return end < size && begin < end ? 0 : -1;
}

static int read_record(const uint8_t *p, uint32_t size,
                       struct pe_identity *identity, char *error,
                       size_t error_size)
{
    if (size >= 4 && memcmp(p, "NB10", 4) == 0) {
        return fail(error, error_size,
                    "belongs to a PDB 2.0, Visual C++ 6 and older");
    }
    if (size < RSDS_NAME || memcmp(p, "RSDS", 4) != 0) {
        return fail(error, error_size,
                    "is damaged: no CodeView record where its debug "
                    "directory says");
    }
    le_guid(identity->guid, p + 4);
    identity->age = le32(p + 20);
    if (read_name(p + RSDS_NAME, size - RSDS_NAME, identity) != 0) {
        return fail(error, error_size,
                    "is damaged: its CodeView record has no PDB name");
    }
    return 0;
}

int pe_identity_read(const uint8_t *data, size_t size,
                     struct pe_identity *identity, char *error,
                     size_t error_size)
{
    struct image image = {.data = data, .size = size};
    const uint8_t *entries, *p, *record;
    uint32_t i, n, length;

    if (read_headers(&image, error, error_size) != 0) {
        return -1;
    }
    n = image.debug_size / DEBUG_ENTRY;
    n = n < DEBUG_ENTRIES_MAX ? n : DEBUG_ENTRIES_MAX;
    entries = loaded(&image, image.debug, n * DEBUG_ENTRY);
    if (entries == NULL) {
        return fail(error, error_size,
                    "is damaged: its debug directory is not in the file");
    }
    fail(error, error_size,
         "has no CodeView record: it was built without a "
         "PDB");
    for (i = 0; i < n; i++) {
        p = entries + (size_t)i * DEBUG_ENTRY;
        if (le32(p + 12) != TYPE_CODEVIEW) {
            continue;
        }
        if (le16(p + 10) == PORTABLE_MINOR) {
            fail(error, error_size, "belongs to a portable PDB of .NET");
            continue;
        }
        length = le32(p + 16);
        record = le32(p + 24) != 0 ? at(&image, le32(p + 24), length)
                                   : loaded(&image, le32(p + 20), length);
        return read_record(record, record != NULL ? length : 0, identity,
                           error, error_size);
    }
    return -1;
}
