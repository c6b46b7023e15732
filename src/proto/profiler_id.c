
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "profiler_id.h"

#include <string.h>

static const char  symcache_base64url[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int
symcache_profiler_id_parse(const char *p, size_t len, symcache_key_t *key)
{
    size_t       i, n;
    uint32_t     bits;
    const char  *at;

    if (len == SYMCACHE_PROFILER_ID_TEXT + 2 && p[len - 1] == '='
        && p[len - 2] == '=')
    {
        len -= 2;
    }

    if (len != SYMCACHE_PROFILER_ID_TEXT
        || symcache_name_parse(SYMCACHE_NAME_NONE,
                               sizeof(SYMCACHE_NAME_NONE) - 1, key)
           != SYMCACHE_OK)
    {
        return 0;
    }

    key->kind = SYMCACHE_KIND_SYMBFILE;
    key->id_type = SYMCACHE_ID_HASH;
    key->build_len = SYMCACHE_PROFILER_ID_SIZE;
    bits = 0;
    n = 0;

    for (i = 0; i < len; i++) {
        at = p[i] != '\0' ? strchr(symcache_base64url, p[i]) : NULL;

        if (at == NULL) {
            return 0;
        }

        bits = bits << 6 | (uint32_t) (at - symcache_base64url);

        /* a byte is complete after 2, 3 and 4 characters of four */

        if (i % 4 != 0) {
            key->build[n++] = (uint8_t) (bits >> (6 - 2 * (i % 4)));
        }
    }

    return (bits & 0x0f) == 0;    /* of which there is one text only */
}

void
symcache_profiler_id_print(char buf[SYMCACHE_PROFILER_ID_TEXT + 1],
    const symcache_key_t *key)
{
    size_t    i, bit;
    uint32_t  pair;

    for (i = 0; i < SYMCACHE_PROFILER_ID_TEXT; i++) {
        bit = 6 * i;
        pair = (uint32_t) key->build[bit / 8] << 8;

        if (bit / 8 + 1 < SYMCACHE_PROFILER_ID_SIZE) {
            pair |= key->build[bit / 8 + 1];
        }

        buf[i] = symcache_base64url[pair >> (10 - bit % 8) & 0x3f];
    }

    buf[i] = '\0';
}
