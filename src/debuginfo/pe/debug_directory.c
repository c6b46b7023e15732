/*
 * Copyright (C) the ngx_symcache authors
 */

#include "debug_directory.h"

#include <stdio.h>

#include "base/le.h"

#define ENTRY 28
#define ENTRIES_MAX 256 /* real images have less than ten */

const uint8_t *pe_debug_directory(const struct pe_image *image,
                                  uint32_t *count, char *error,
                                  size_t error_size)
{
    const uint8_t *entries;
    uint32_t address, size;

    if (!pe_image_directory(image, PE_DEBUG, &address, &size)) {
        snprintf(error, error_size, "has no debug directory");
        return NULL;
    }
    *count = size / ENTRY;
    *count = *count < ENTRIES_MAX ? *count : ENTRIES_MAX;
    entries = pe_image_loaded(image, address, *count * ENTRY);
    if (entries == NULL) {
        snprintf(error, error_size,
                 "is damaged: its debug directory is not in the file");
    }
    return entries;
}

void pe_debug_entry(const struct pe_image *image, const uint8_t *directory,
                    uint32_t i, struct pe_debug_entry *entry)
{
    const uint8_t *p = directory + (size_t)i * ENTRY;
    uint32_t size = le32(p + 16), offset = le32(p + 24);

    entry->type = le32(p + 12);
    entry->minor = le16(p + 10);
    entry->data = offset != 0 ? pe_image_at(image, offset, size)
                              : pe_image_loaded(image, le32(p + 20), size);
    entry->size = entry->data != NULL ? size : 0;
}

bool pe_debug_find(const uint8_t *data, size_t size, uint32_t type,
                   struct pe_debug_entry *entry)
{
    char error[200];
    const uint8_t *directory;
    struct pe_image image;
    uint32_t i, count;

    if (pe_image_open(&image, data, size, error, sizeof(error)) != 0) {
        return false;
    }
    directory = pe_debug_directory(&image, &count, error, sizeof(error));
    for (i = 0; directory != NULL && i < count; i++) {
        pe_debug_entry(&image, directory, i, entry);
        if (entry->type == type) {
            return true;
        }
    }
    return false;
}
