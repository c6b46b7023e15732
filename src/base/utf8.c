/*
 * Copyright (C) the ngx_symcache authors
 */
#include "utf8.h"

#include <string.h>

#define UTF8_REPLACEMENT 0xFFFD
#define UTF8_HIGH_BITS 0x8080808080808080u /* of bytes that are not ASCII */

int utf8_decode(const void *text, size_t size, uint32_t *c)
{
    const unsigned char *utf8 = text;
    unsigned char lead = utf8[0], low = 0x80, high = 0xBF;
    uint32_t value;
    int i, n;

    if (lead < 0x80) {
        *c = lead;
        return 1;
    }
    *c = UTF8_REPLACEMENT;
    if (lead < 0xC2 || lead > 0xF4) {
        return -1;
    }
    /* after four of the lead bytes the second byte has tighter bounds */
    switch (lead) {
    case 0xE0:
        low = 0xA0;
        break;
    case 0xED:
        high = 0x9F;
        break;
    case 0xF0:
        low = 0x90;
        break;
    case 0xF4:
        high = 0x8F;
        break;
    }
    n = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    value = lead & (0x7Fu >> n);
    for (i = 1; i < n; i++) {
        if ((size_t)i >= size || utf8[i] < low || utf8[i] > high) {
            return -i;
        }
        value = value << 6 | (utf8[i] & 0x3F);
        low = 0x80;
        high = 0xBF;
    }
    *c = value;
    return n;
}

size_t utf8_encode(char utf8[4], uint32_t c)
{
    if ((c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) {
        c = UTF8_REPLACEMENT;
    }
    if (c < 0x80) {
        utf8[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        utf8[0] = (char)(0xC0 | c >> 6);
        utf8[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        utf8[0] = (char)(0xE0 | c >> 12);
        utf8[1] = (char)(0x80 | (c >> 6 & 0x3F));
        utf8[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    utf8[0] = (char)(0xF0 | c >> 18);
    utf8[1] = (char)(0x80 | (c >> 12 & 0x3F));
    utf8[2] = (char)(0x80 | (c >> 6 & 0x3F));
    utf8[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

uint32_t utf16_pair(uint32_t first, uint32_t second)
{
    if (first < 0xD800 || first > 0xDBFF || second < 0xDC00 ||
        second > 0xDFFF) {
        return 0;
    }
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
}

static uint32_t utf16_unit(const unsigned char *utf16, bool is_big)
{
    return is_big ? (uint32_t)utf16[0] << 8 | utf16[1]
                  : (uint32_t)utf16[1] << 8 | utf16[0];
}

size_t utf16_to_utf8(const void *text, size_t size, char *utf8)
{
    const unsigned char *p = text;
    size_t i, n = 0;
    uint32_t c, pair, mark = size >= 2 ? utf16_unit(p, true) : 0;
    bool is_big = mark == 0xFEFF;

    if (!is_big && mark != 0xFFFE) {
        return SIZE_MAX;
    }
    for (i = 2; i + 1 < size; i += 2) {
        c = utf16_unit(p + i, is_big);
        pair = i + 3 < size ? utf16_pair(c, utf16_unit(p + i + 2, is_big)) : 0;
        if (pair != 0) {
            c = pair;
            i += 2;
        }
        n += utf8_encode(utf8 + n, c);
    }
    return n;
}

static inline uint64_t utf8_eight(const unsigned char *utf8)
{
    uint64_t bytes;

    memcpy(&bytes, utf8, sizeof(bytes));
    return bytes;
}

/* Are these 16 bytes ASCII? */
static inline bool utf8_is_ascii(const unsigned char *utf8)
{
    return ((utf8_eight(utf8) | utf8_eight(utf8 + 8)) & UTF8_HIGH_BITS) == 0;
}

size_t utf8_ascii(const void *text, size_t size)
{
    const unsigned char *utf8 = text;
    size_t i, k;
    uint64_t all;

    for (i = 0; size - i >= 64; i += 64) {
        all = 0;
        for (k = 0; k < 64; k += 8) {
            all |= utf8_eight(utf8 + i + k);
        }
        if ((all & UTF8_HIGH_BITS) != 0) {
            break;
        }
    }
    for (; i < size && utf8[i] < 0x80; i++) {
    }
    return i;
}

/* Returns how much of a text is ASCII, or a little less. */
static inline size_t utf8_skip_ascii(const unsigned char *utf8, size_t size)
{
    size_t i;

    if (size < 16) {
        return size >= 8 && ((utf8_eight(utf8) | utf8_eight(utf8 + size - 8)) &
                             UTF8_HIGH_BITS) == 0
                   ? size
                   : 0;
    }
    for (i = 0; size - i >= 16; i += 16) {
        if (!utf8_is_ascii(utf8 + i)) {
            return i;
        }
    }
    return utf8_is_ascii(utf8 + size - 16) ? size : i;
}

size_t utf8_valid(const void *text, size_t size)
{
    const unsigned char *utf8 = text;
    uint32_t c;
    size_t i = utf8_skip_ascii(utf8, size); /* most text is ASCII */
    int n;

    while (i < size) {
        if (size - i >= 8 && (utf8_eight(utf8 + i) & UTF8_HIGH_BITS) == 0) {
            i += 8;
        } else if (utf8[i] < 0x80) {
            i++;
        } else {
            n = utf8_decode(utf8 + i, size - i, &c);
            if (n < 0) {
                break;
            }
            i += (size_t)n;
        }
    }
    return i;
}

void utf8_replace_last(char *text, char c)
{
    size_t len = strlen(text);

    while (len > 1 && ((unsigned char)text[len - 1] & 0xc0) == 0x80) {
        len--;
    }
    text[len - 1] = c;
    text[len] = '\0';
}

/* Returns whether one of eight bytes is a control character, DEL included, or
 * none of ASCII.  Only such a byte borrows from the one beside it. */
static inline bool utf8_has_special(uint64_t bytes)
{
    const uint64_t ones = UTF8_HIGH_BITS >> 7;

    return ((bytes | (bytes - ones * ' ') | ((bytes ^ ones * 0x7F) - ones)) &
            UTF8_HIGH_BITS) != 0;
}

bool utf8_is_printable(const char *text, size_t size)
{
    const unsigned char *utf8 = (const unsigned char *)text;
    size_t i;

    for (i = 0; size - i >= 8; i += 8) {
        if (utf8_has_special(utf8_eight(utf8 + i))) {
            return false;
        }
    }
    for (; i < size; i++) {
        if (utf8[i] < ' ' || utf8[i] >= 0x7F) {
            return false;
        }
    }
    return true;
}

void utf8_mend(char *text)
{
    char *utf8 = text, *end = text + strlen(text);
    uint32_t c;
    int n;

    for (; utf8 < end; utf8 += n) {
        n = utf8_decode(utf8, (size_t)(end - utf8), &c);
        if (n < 0 || (c >= 0x80 && c < 0xA0)) {
            *utf8 = '?';
            n = 1;
        }
    }
}
