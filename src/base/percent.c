/*
 * Copyright (C) the ngx_symcache authors
 */
#include "percent.h"

#include <stdbool.h>
#include <string.h>

static bool unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || (c != '\0' && strchr("-._~", c) != NULL);
}

void percent_encode_path(char *p, const char *path)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *path != '\0'; path++) {
        if (*path == '/' || unreserved((unsigned char)*path)) {
            *p++ = *path;
        } else {
            *p++ = '%';
            *p++ = hex[(unsigned char)*path >> 4];
            *p++ = hex[(unsigned char)*path & 15];
        }
    }

    *p = '\0';
}
