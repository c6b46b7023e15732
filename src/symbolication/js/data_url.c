/*
 * Copyright (C) the ngx_symcache authors
 */
#include "data_url.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

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

/* Decodes a text in place, as browsers do: padding may be missing, and white
 * space and bits that are left over are nothing. */
static bool read_base64(char *text, size_t *size)
{
    size_t i, digits = 0, padding = 0;
    int value;
    uint32_t bits = 0;
    char *to = text;

    for (i = 0; i < *size; i++) {
        value = base64_value(text[i]);
        if (value < 0 && text[i] == '=') {
            padding++;
            continue;
        }
        if (value < 0 && memchr(" \t\n\f\r", text[i], 5) != NULL) {
            continue;
        }
        if (value < 0 || padding > 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        if (++digits % 4 == 0) {
            *to++ = (char)(bits >> 16);
            *to++ = (char)(bits >> 8);
            *to++ = (char)bits;
        }
    }
    digits %= 4;
    if (digits == 1 ||
        (padding > 0 && (digits == 0 || digits + padding != 4))) {
        return false;
    }
    if (digits >= 2) {
        *to++ = (char)(digits == 2 ? bits >> 4 : bits >> 10);
    }
    if (digits == 3) {
        *to++ = (char)(bits >> 2);
    }
    *size = (size_t)(to - text);
    return true;
}

bool js_data_url_read(struct symc_string url, char *text, size_t *size)
{
    size_t n;
    const char *p, *comma, *end;
    static const char base64[] = ";base64";

    comma = js_is_data_url(url) ? memchr(url.data, ',', url.size) : NULL;
    if (comma == NULL) {
        return false;
    }
    p = comma + 1;
    n = url.size - (size_t)(p - url.data);
    end = memchr(p, '#', n);
    *size = percent_decode(text, p, end != NULL ? (size_t)(end - p) : n);
    if ((size_t)(comma - url.data) >= sizeof(base64) - 1 &&
        strncasecmp(comma - sizeof(base64) + 1, base64, sizeof(base64) - 1) ==
            0 &&
        !read_base64(text, size)) {
        return false;
    }
    return utf8_valid(text, *size) == *size;
}
