/*
 * Copyright (C) the ngx_symcache authors
 */

#include "string.h"

#include "base/utf8.h"
#include "format.h"

/* Reads an unsigned LEB128 number of at most 64 bits.  It need not be in its
 * shortest form.  Returns its size in bytes, or 0 if it is invalid. */
static size_t leb128(const uint8_t *p, size_t size, uint64_t *value)
{
    size_t i;
    uint64_t n;

    n = 0;
    for (i = 0; i < size && i < 10; i++) {
        if (i == 9 && p[i] > 1) {
            return 0;
        }
        n |= (uint64_t)(p[i] & 0x7F) << (7 * i);
        if (p[i] < 0x80) {
            *value = n;
            return i + 1;
        }
    }
    return 0;
}

const char *symc_string_find(const uint8_t *section, size_t size,
                             size_t offset, uint32_t version,
                             struct symc_string *string)
{
    size_t used;
    uint64_t length;

    string->data = NULL;
    string->size = 0;
    if (offset >= size) {
        return "is outside of the string section";
    }
    section += offset;
    size -= offset;
    if (version >= SYMC_LEB128_VERSION) {
        used = leb128(section, size, &length);
        if (used == 0) {
            return "has no length";
        }
    } else {
        used = 4;
        if (size < used) {
            return "has no length";
        }
        length = le32(section);
    }
    if (length > size - used) {
        return "is longer than the string section";
    }
    string->data = (const char *)section + used;
    string->size = (size_t)length;
    return NULL;
}

const char *symc_string_read(const uint8_t *section, size_t size,
                             size_t offset, uint32_t version,
                             struct symc_string *string)
{
    const char *fault;

    fault = symc_string_find(section, size, offset, version, string);
    if (fault == NULL &&
        utf8_valid(string->data, string->size) != string->size) {
        string->data = NULL;
        string->size = 0;
        fault = "is not UTF-8";
    }
    return fault;
}
