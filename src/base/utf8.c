/*
 * Copyright (C) the ngx_symcache authors
 */
#include "utf8.h"

#include <string.h>
#include "proto/key.h"

void utf8_mend(char *text)
{
    unsigned char *p = (unsigned char *)text, *end = p + strlen(text);
    size_t n;

    while (p < end) {
        n = *p < 0x80 ? 1 : symcache_utf8_char(p, end);
        if (n == 0) {
            *p = '?';
            n = 1;
        }
        p += n;
    }
}
