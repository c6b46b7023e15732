
/*
 * Copyright (C) the ngx_symcache authors
 */


#include <string.h>
#include "symcache_key.h"
#include "symcache_path.h"


#define XX  0xff

/* values of hexadecimal digits; a hit parses and prints one GUID */

static const uint8_t  symcache_hex[256] = {
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
     0,  1,  2,  3,  4,  5,  6,  7,  8,  9, XX, XX, XX, XX, XX, XX,
    XX, 10, 11, 12, 13, 14, 15, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, 10, 11, 12, 13, 14, 15, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX,
    XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX, XX
};

#undef XX


/*
 * Bytes of a name that decide at once: 0 what is legal as it is, 1 the start
 * of a longer character, 2 controls and what Windows or a path would read.
 */

static const uint8_t  symcache_name_byte[256] = {
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 2, 2,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
};


/*
 * The length of the UTF-8 character at p, which is none of ASCII, or 0 if it
 * is none: overlong forms, surrogates, values above U+10FFFF, and the C1
 * controls, which are control characters like those below U+0020.
 */

static size_t
symcache_utf8_char(const unsigned char *p, const unsigned char *last)
{
    size_t    i, n;
    uint32_t  c, min;

    if (*p >= 0xc2 && *p <= 0xdf) {
        n = 2;
        min = 0xa0;
        c = *p & 0x1f;

    } else if (*p >= 0xe0 && *p <= 0xef) {
        n = 3;
        min = 0x800;
        c = *p & 0x0f;

    } else if (*p >= 0xf0 && *p <= 0xf4) {
        n = 4;
        min = 0x10000;
        c = *p & 0x07;

    } else {
        return 0;
    }

    if ((size_t) (last - p) < n) {
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


static int
symcache_name_reserved(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0
           || strcmp(name, SYMCACHE_TMP_DIR) == 0
           || strcmp(name, SYMCACHE_TRANSCODERS_FILE) == 0;
}


symcache_status_e
symcache_name_parse(const char *p, size_t len, symcache_key_t *key)
{
    size_t                i, n;
    unsigned char         c;
    const unsigned char  *u;

    if (len == 0 || len > SYMCACHE_NAME_MAX) {
        return SYMCACHE_BAD_NAME;
    }

    u = (const unsigned char *) p;

    i = 0;

    while (i < len) {
        c = u[i];

        if (symcache_name_byte[c] == 0) {
            key->name[i++] = (char) (c >= 'A' && c <= 'Z' ? c | 0x20 : c);
            continue;
        }

        n = symcache_name_byte[c] == 1 ? symcache_utf8_char(u + i, u + len)
                                       : 0;
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

    if (key->name[0] == '.' && symcache_name_reserved(key->name)) {
        return SYMCACHE_BAD_NAME;
    }

    return SYMCACHE_OK;
}


static symcache_status_e
symcache_guid_digits(const char *p, int hyphens, uint8_t guid[16])
{
    int      i;
    uint8_t  high, low, bad;

    bad = 0;

    for (i = 0; i < 16; i++) {

        if (hyphens && (i == 4 || i == 6 || i == 8 || i == 10)) {
            if (*p++ != '-') {
                return SYMCACHE_BAD_ID;
            }
        }

        high = symcache_hex[(uint8_t) *p++];
        low = symcache_hex[(uint8_t) *p++];

        bad |= high | low;
        guid[i] = (uint8_t) (high << 4 | low);
    }

    return bad & 0xf0 ? SYMCACHE_BAD_ID : SYMCACHE_OK;
}


symcache_status_e
symcache_guid_parse(const char *p, size_t len, uint8_t guid[16])
{
    if (len == 32) {
        return symcache_guid_digits(p, 0, guid);
    }

    if (len == 38
        && ((p[0] == '{' && p[37] == '}') || (p[0] == '(' && p[37] == ')')))
    {
        p++;
        len -= 2;
    }

    if (len == 36) {
        return symcache_guid_digits(p, 1, guid);
    }

    return SYMCACHE_BAD_ID;
}


symcache_status_e
symcache_age_parse(const char *p, size_t len, uint32_t *age)
{
    size_t    i;
    uint64_t  n;

    if (len == 0 || len > 10) {
        return SYMCACHE_BAD_AGE;
    }

    n = 0;

    for (i = 0; i < len; i++) {

        if (p[i] < '0' || p[i] > '9') {
            return SYMCACHE_BAD_AGE;
        }

        n = n * 10 + (uint64_t) (p[i] - '0');
    }

    if (n > 0xffffffff) {
        return SYMCACHE_BAD_AGE;
    }

    *age = (uint32_t) n;

    return SYMCACHE_OK;
}


symcache_status_e
symcache_id_parse(const char *p, size_t len, symcache_key_t *key)
{
    size_t    i;
    uint8_t   d;
    uint32_t  age;

    if (len < 33 || len > SYMCACHE_ID_TEXT_MAX) {
        return SYMCACHE_BAD_ID;
    }

    age = 0;

    for (i = 32; i < len; i++) {
        d = symcache_hex[(uint8_t) p[i]];

        if (d > 15) {
            return SYMCACHE_BAD_AGE;
        }

        age = age << 4 | d;
    }

    /* ages are written without padding; another spelling is another path */

    if (p[32] == '0' && len > 33) {
        return SYMCACHE_BAD_AGE;
    }

    key->age = age;

    return symcache_guid_digits(p, 0, key->guid);
}


size_t
symcache_id_print(char *buf, const symcache_key_t *key)
{
    int    shift;
    char  *p;
    size_t i;

    static const char  hex[] = "0123456789ABCDEF";

    p = buf;

    for (i = 0; i < 16; i++) {
        *p++ = hex[key->guid[i] >> 4];
        *p++ = hex[key->guid[i] & 0xf];
    }

    shift = 28;

    while (shift > 0 && (key->age >> shift) == 0) {
        shift -= 4;
    }

    for ( /* void */ ; shift >= 0; shift -= 4) {
        *p++ = hex[(key->age >> shift) & 0xf];
    }

    *p = '\0';

    return (size_t) (p - buf);
}


symcache_status_e
symcache_request_parse(const char *p, size_t len, symcache_request_t *req)
{
    int                 n;
    size_t              seg_len[4];
    const char         *seg[4], *last, *slash;
    symcache_status_e   rc;

    last = p + len;

    if (p < last && *p == '/') {
        p++;
    }

    if (p < last && last[-1] == '/') {
        last--;
    }

    for (n = 0; /* void */ ; n++) {

        if (n == 4) {
            return SYMCACHE_BAD_PATH;
        }

        slash = memchr(p, '/', (size_t) (last - p));

        seg[n] = p;
        seg_len[n] = (size_t) ((slash ? slash : last) - p);

        if (slash == NULL) {
            n++;
            break;
        }

        p = slash + 1;
    }

    if (n < 3) {
        return SYMCACHE_BAD_PATH;
    }

    if (seg_len[0] < 1 || (seg[0][0] | 0x20) != 'v'
        || !symcache_version_parse(seg[0] + 1, seg_len[0] - 1, &req->version))
    {
        return SYMCACHE_BAD_VERSION;
    }

    rc = symcache_name_parse(seg[1], seg_len[1], &req->key);
    if (rc != SYMCACHE_OK) {
        return rc;
    }

    rc = symcache_guid_parse(seg[2], seg_len[2], req->key.guid);
    if (rc != SYMCACHE_OK) {
        return rc;
    }

    if (n == 3) {
        req->key.age = 1;
        return SYMCACHE_OK;
    }

    return symcache_age_parse(seg[3], seg_len[3], &req->key.age);
}


const char *
symcache_status_text(symcache_status_e status)
{
    switch (status) {

    case SYMCACHE_OK:
        return "ok";

    case SYMCACHE_BAD_PATH:
        return "not of the form v<version>/<pdb name>/<GUID>[/<age>]";

    case SYMCACHE_BAD_VERSION:
        return "invalid SymCache version";

    case SYMCACHE_BAD_NAME:
        return "invalid PDB name";

    case SYMCACHE_BAD_ID:
        return "invalid PDB GUID";

    case SYMCACHE_BAD_AGE:
        return "invalid PDB age";
    }

    return "unknown";
}
