/*
 * Copyright (C) the ngx_symcache authors
 */
#include "data_url.h"

#include <stdint.h>
#include <string.h>

#include "base/percent.h"
#include "base/utf8.h"

bool js_is_data_url(struct symc_string url)
{
    return url.size >= 5 && memcmp(url.data, "data:", 5) == 0;
}

static int base64_value(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c != '\0' ? strchr(digits, c) : NULL;

    return p != NULL ? (int)(p - digits) : -1;
}

/* Strict: padded, and no bits are left over. */
static bool read_base64(const char *p, size_t n, char *text, size_t *size)
{
    size_t i, padding = 0;
    int value;
    uint32_t bits = 0;
    char *to = text;

    if (n % 4 != 0) {
        return false;
    }
    while (padding < 2 && padding < n && p[n - 1 - padding] == '=') {
        padding++;
    }
    for (i = 0; i < n; i++) {
        value = i < n - padding ? base64_value(p[i]) : 0;
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 == 3) {
            *to++ = (char)(bits >> 16);
            *to++ = (char)(bits >> 8);
            *to++ = (char)bits;
        }
    }
    *size = (size_t)(to - text) - padding;
    return padding == 0 || (bits & (padding == 1 ? 0xFF : 0xFFFF)) == 0;
}

bool js_data_url_read(struct symc_string url, char *text, size_t *size)
{
    size_t n;
    const char *p, *comma;
    static const char base64[] = ";base64";

    comma = js_is_data_url(url) ? memchr(url.data, ',', url.size) : NULL;
    if (comma == NULL) {
        return false;
    }
    p = comma + 1;
    n = url.size - (size_t)(p - url.data);
    if ((size_t)(comma - url.data) >= sizeof(base64) - 1 &&
        memcmp(comma - sizeof(base64) + 1, base64, sizeof(base64) - 1) == 0) {
        if (!read_base64(p, n, text, size)) {
            return false;
        }
    } else {
        *size = percent_decode(text, p, n);
    }
    return utf8_valid(text, *size) == *size;
}
