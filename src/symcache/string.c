/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "format.h"
#include "string.h"

#define HIGH_BITS 0x8080808080808080u

/* Length of the UTF-8 sequence at text, whose first byte is not ASCII; 0 when
 * it is broken. */
static size_t sequence(const uint8_t *text, size_t size)
{
    size_t i, len;
    uint8_t c, low, high;

    c = text[0];
    low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    len = c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    if (len == 0 || len > size || text[1] < low || text[1] > high) {
        return 0;
    }
    for (i = 2; i < len; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return len;
}

int symfile_string_is_utf8(const uint8_t *text, size_t size)
{
    size_t i, len;
    uint64_t eight;

    for (i = 0; i < size;) {
        if (size - i >= sizeof(eight)) {
            memcpy(&eight, text + i, sizeof(eight));
            if ((eight & HIGH_BITS) == 0) {
                i += sizeof(eight);
                continue;
            }
        }
        if (text[i] < 0x80) {
            i++;
            continue;
        }
        len = sequence(text + i, size - i);
        if (len == 0) {
            return 0;
        }
        i += len;
    }
    return 1;
}

/* Unsigned LEB128 of at most 64 bits; longer forms of a number are one too.
 * Returns how many bytes it has, or 0. */
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

const char *symfile_string_read(const uint8_t *section, size_t size,
                                size_t offset, uint32_t version,
                                struct symfile_string *string)
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
    if (version >= SYMFILE_LEB128_VERSION) {
        used = leb128(section, size, &length);
        if (used == 0) {
            return "has no length";
        }
    } else {
        used = 4;
        if (size < used) {
            return "has no length";
        }
        length = symfile_load(section);
    }
    if (length > size - used) {
        return "is longer than the string section";
    }
    if (!symfile_string_is_utf8(section + used, (size_t)length)) {
        return "is not UTF-8";
    }
    string->data = (const char *)section + used;
    string->size = (size_t)length;
    return NULL;
}
