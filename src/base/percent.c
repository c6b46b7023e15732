/*
 * Copyright (C) the ngx_symcache authors
 */
#include "percent.h"

#include <string.h>

#include "hex.h"

static bool percent_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

static char *encode_percent(char *p, const char *text, char kept)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *text != '\0'; text++) {
        if (*text == kept || percent_unreserved((unsigned char)*text)) {
            *p++ = *text;
        } else {
            *p++ = '%';
            *p++ = hex[(unsigned char)*text >> 4];
            *p++ = hex[(unsigned char)*text & 15];
        }
    }

    *p = '\0';
    return p;
}

char *percent_encode(char *p, const char *text)
{
    return encode_percent(p, text, '\0');
}

void percent_encode_path(char *p, const char *path)
{
    (void)encode_percent(p, path, '/');
}

size_t percent_decode(char *to, const char *text, size_t size)
{
    const char *end = text + size;
    char *p = to;
    int high, low;

    for (; text < end; text++) {
        high = *text == '%' && end - text > 2 ? hex_digit(text[1]) : -1;
        low = high >= 0 ? hex_digit(text[2]) : -1;
        *p++ = low >= 0 ? (char)(high << 4 | low) : *text;
        text += low >= 0 ? 2 : 0;
    }
    return (size_t)(p - to);
}

bool percent_path_has_dots(const char *path, size_t size)
{
    const char *end = path + size, *slash;
    size_t n;

    for (;; path = slash + 1) {
        slash = memchr(path, '/', (size_t)(end - path));
        n = (size_t)((slash != NULL ? slash : end) - path);
        if ((n == 1 && path[0] == '.') ||
            (n == 2 && path[0] == '.' && path[1] == '.')) {
            return true;
        }
        if (slash == NULL) {
            return false;
        }
    }
}
