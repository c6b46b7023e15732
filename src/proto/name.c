
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The name of a key, which key.h declares.
 */

#include "key.h"

#include "vector.h"

/*
 * The bytes of a name as they are stored.  1 is the first byte of a longer
 * character; 0 is a control character, or has a meaning in a path or to
 * Windows.
 */

static const uint8_t  symcache_name_byte[256] = {
      0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
      0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
     32, 33,  0, 35, 36, 37, 38, 39, 40, 41,  0, 43, 44, 45, 46,  0,
     48, 49, 50, 51, 52, 53, 54, 55, 56, 57,  0, 59,  0, 61,  0,  0,
     64, 97, 98, 99,100,101,102,103,104,105,106,107,108,109,110,111,
    112,113,114,115,116,117,118,119,120,121,122, 91,  0, 93, 94, 95,
     96, 97, 98, 99,100,101,102,103,104,105,106,107,108,109,110,111,
    112,113,114,115,116,117,118,119,120,121,122,123,  0,125,126,  0,
      1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
      1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
      1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
      1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
      1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
      1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
      1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,
      1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1,  1
};

/*
 * The length of the UTF-8 character at p, which is none of ASCII, or 0 if it
 * is none: overlong forms, surrogates, values above U+10FFFF, and the C1
 * controls, which are control characters like those below U+0020.  It is
 * apart from utf8_decode() of src/base because src/proto stands below all
 * other folders: nginx is built with this folder alone.
 */

static size_t
symcache_utf8_char(const unsigned char *p, const unsigned char *last)
{
    size_t    i, n;
    uint32_t  c, min;

    n = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    min = n == 2 ? 0xa0 : n == 3 ? 0x800 : 0x10000;
    c = *p & (0x7f >> n);

    if (*p < 0xc2 || *p > 0xf4 || (size_t) (last - p) < n) {
        return 0;
    }

    for (i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }

        c = c << 6 | (p[i] & 0x3f);
    }

    if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
        return 0;
    }

    return n;
}

symcache_status_e
symcache_name_parse(const char *p, size_t len, symcache_key_t *key)
{
    size_t                i, n;
    unsigned char         c;
    const unsigned char  *u;

    if (len == 0 || len > SYMCACHE_NAME_MAX || p[0] == '.') {
        return SYMCACHE_BAD_NAME;
    }

    u = (const unsigned char *) p;

    i = len >= 8 && symcache_vector_name(key->name, p, len) ? len : 0;

    while (i < len) {
        c = symcache_name_byte[u[i]];

        if (c > 1) {
            key->name[i++] = (char) c;
            continue;
        }

        n = c ? symcache_utf8_char(u + i, u + len) : 0;
        if (n == 0) {
            return SYMCACHE_BAD_NAME;
        }

        while (n--) {
            key->name[i] = p[i];
            i++;
        }
    }

    key->name[len] = '\0';
    key->name_len = (uint32_t) len;
    key->kind = SYMCACHE_KIND_SYMCACHE;
    key->id_type = SYMCACHE_ID_DEBUG;

    return SYMCACHE_OK;
}
