/*
 * Copyright (C) the ngx_symcache authors
 */
#include "response_header.h"

#include <string.h>
#include <strings.h>

bool response_header_value(const char *line, size_t len, const char *name,
                           char *buf, size_t size)
{
    size_t n = strlen(name), i = 0;

    if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':') {
        return false;
    }
    for (n++; n < len && (line[n] == ' ' || line[n] == '\t'); n++) {
    }
    while (len > n && (unsigned char)line[len - 1] <= ' ') {
        len--;
    }
    for (; n < len && i + 1 < size; n++) {
        buf[i++] = line[n] >= ' ' && line[n] < 0x7f ? line[n] : '?';
    }
    buf[i] = '\0';
    return true;
}
