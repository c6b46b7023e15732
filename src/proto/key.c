
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "key.h"

#include <string.h>

#include "vector.h"

#define XX  0xf000

/*
 * Values of hexadecimal digits.  Those of other characters are so large that
 * two digits joined exceed a byte.
 */

static const uint16_t  key_hex[256] = {
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

#define KEY_BUILD_PREFIX      "buildid-"
#define KEY_BUILD_PREFIX_LEN  8

#define KEY_HASH_PREFIX       "hash-"
#define KEY_HASH_PREFIX_LEN   5

static const char  key_hex_upper[] = "0123456789ABCDEF";
static const char  key_hex_lower[] = "0123456789abcdef";

/* Reads n bytes from 2n digits; above 0xff if one of them is not a digit. */

static uint32_t
key_hex_bytes(const char *p, size_t n, uint8_t *to)
{
    uint32_t  b, all;

    all = 0;

    while (n--) {
        b = (uint32_t) key_hex[(uint8_t) p[0]] << 4
            | key_hex[(uint8_t) p[1]];

        all |= b;
        *to++ = (uint8_t) b;
        p += 2;
    }

    return all;
}

static symcache_status_e
key_guid_plain(const char *p, uint8_t guid[16])
{
    return symcache_vector_guid_read(p, guid) ? SYMCACHE_OK : SYMCACHE_BAD_ID;
}

static symcache_status_e
key_guid_hyphens(const char *p, uint8_t guid[16])
{
    uint32_t  all;

    if (p[8] != '-' || p[13] != '-' || p[18] != '-' || p[23] != '-') {
        return SYMCACHE_BAD_ID;
    }

    all = key_hex_bytes(p, 4, guid);
    all |= key_hex_bytes(p + 9, 2, guid + 4);
    all |= key_hex_bytes(p + 14, 2, guid + 6);
    all |= key_hex_bytes(p + 19, 2, guid + 8);
    all |= key_hex_bytes(p + 24, 6, guid + 10);

    return all > 0xff ? SYMCACHE_BAD_ID : SYMCACHE_OK;
}

symcache_status_e
symcache_guid_parse(const char *p, size_t len, uint8_t guid[16])
{
    if (len == 32) {
        return key_guid_plain(p, guid);
    }

    if (len == 38
        && ((p[0] == '{' && p[37] == '}') || (p[0] == '(' && p[37] == ')')))
    {
        p++;
        len -= 2;
    }

    if (len == 36) {
        return key_guid_hyphens(p, guid);
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

/* Reads 1 to 8 digits without leading zeros. */

static int
key_hex_number(const char *p, size_t len, uint32_t *number)
{
    size_t    i;
    uint16_t  d;
    uint32_t  n;

    if (len == 0 || len > 8 || (p[0] == '0' && len > 1)) {
        return 0;
    }

    n = 0;

    for (i = 0; i < len; i++) {
        d = key_hex[(uint8_t) p[i]];

        if (d > 15) {
            return 0;
        }

        n = n << 4 | d;
    }

    *number = n;

    return 1;
}

static char *
key_hex_number_print(char *p, uint32_t number, const char *digits)
{
    int  shift;

    shift = 0;

    while (number >> shift > 0xf) {
        shift += 4;
    }

    for ( /* void */ ; shift >= 0; shift -= 4) {
        *p++ = digits[(number >> shift) & 0xf];
    }

    return p;
}

symcache_status_e
symcache_debug_id_parse(const char *p, size_t len, symcache_key_t *key)
{
    if (len < 33 || len > 40) {
        return SYMCACHE_BAD_ID;
    }

    if (!key_hex_number(p + 32, len - 32, &key->age)) {
        return SYMCACHE_BAD_AGE;
    }

    key->id_type = SYMCACHE_ID_DEBUG;

    return key_guid_plain(p, key->guid);
}

int
symcache_debug_id_read(const char *p, size_t len, uint8_t guid[16],
    uint32_t *age)
{
    size_t    i, n;
    unsigned  digit;

    n = len > 8 && p[8] == '-' ? 36 : 32;

    if (len < n || symcache_guid_parse(p, n, guid) != SYMCACHE_OK) {
        return 0;
    }

    *age = 0;

    if (len == n) {
        return 1;
    }

    i = n;

    if (n == 36 && (p[i++] != '-' || i == len)) {
        return 0;
    }

    for (n = i; i < len; i++) {
        digit = key_hex[(uint8_t) p[i]];

        if (digit > 0xf) {
            return 0;
        }

        *age = i - n < 8 ? *age << 4 | digit : *age;
    }

    return 1;
}

size_t
symcache_debug_id_write(char *buf, const uint8_t guid[16], uint32_t age)
{
    int     shift;
    char    *p = buf;
    size_t  i;

    for (i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *p++ = '-';
        }

        *p++ = key_hex_lower[guid[i] >> 4];
        *p++ = key_hex_lower[guid[i] & 0xf];
    }

    if (age != 0) {
        *p++ = '-';

        for (shift = 28; age >> shift == 0; shift -= 4) {
            /* leading zeros */
        }

        for ( /* void */ ; shift >= 0; shift -= 4) {
            *p++ = key_hex_lower[age >> shift & 0xf];
        }
    }

    *p = '\0';

    return (size_t) (p - buf);
}

static symcache_status_e
key_pe_id_parse(const char *p, size_t len, symcache_key_t *key)
{
    uint8_t   b[4];
    uint32_t  size;

    if (len < 9
        || key_hex_bytes(p, 4, b) > 0xff
        || !key_hex_number(p + 8, len - 8, &size))
    {
        return SYMCACHE_BAD_ID;
    }

    key->id_type = SYMCACHE_ID_PE;
    key->timestamp = (uint32_t) b[0] << 24 | (uint32_t) b[1] << 16
                     | (uint32_t) b[2] << 8 | b[3];
    key->image_size = size;

    return SYMCACHE_OK;
}

/* Reads min to max bytes of a build id or hash, without its prefix. */

static symcache_status_e
key_bytes_parse(const char *p, size_t len, size_t min, size_t max,
    symcache_id_e type, symcache_key_t *key)
{
    if (len < 2 * min || len > 2 * max || len % 2
        || key_hex_bytes(p, len / 2, key->build) > 0xff)
    {
        return SYMCACHE_BAD_ID;
    }

    key->id_type = (uint8_t) type;
    key->build_len = (uint8_t) (len / 2);

    return SYMCACHE_OK;
}

symcache_status_e
symcache_build_id_parse(const char *p, size_t len, symcache_key_t *key)
{
    return key_bytes_parse(p, len, 1, SYMCACHE_BUILD_ID_MAX,
                           SYMCACHE_ID_BUILD, key);
}

symcache_status_e
symcache_code_id_parse(const char *p, size_t len, symcache_key_t *key)
{
    return len > 16 ? symcache_build_id_parse(p, len, key)
                    : key_pe_id_parse(p, len, key);
}

symcache_status_e
symcache_id_parse(const char *p, size_t len, symcache_key_t *key)
{
    if (len > KEY_BUILD_PREFIX_LEN
        && memcmp(p, KEY_BUILD_PREFIX, KEY_BUILD_PREFIX_LEN) == 0)
    {
        return symcache_build_id_parse(p + KEY_BUILD_PREFIX_LEN,
                                       len - KEY_BUILD_PREFIX_LEN, key);
    }

    if (len > KEY_HASH_PREFIX_LEN
        && memcmp(p, KEY_HASH_PREFIX, KEY_HASH_PREFIX_LEN) == 0)
    {
        return key_bytes_parse(p + KEY_HASH_PREFIX_LEN,
                               len - KEY_HASH_PREFIX_LEN,
                               SYMCACHE_HASH_MIN, SYMCACHE_HASH_MAX,
                               SYMCACHE_ID_HASH, key);
    }

    return len > 16 ? symcache_debug_id_parse(p, len, key)
                    : key_pe_id_parse(p, len, key);
}

static char *
key_pe_id_print(char *p, const symcache_key_t *key)
{
    int  shift;

    for (shift = 28; shift >= 0; shift -= 4) {
        *p++ = key_hex_upper[(key->timestamp >> shift) & 0xf];
    }

    return key_hex_number_print(p, key->image_size, key_hex_lower);
}

static char *
key_bytes_print(char *p, const char *prefix, size_t len,
    const symcache_key_t *key)
{
    size_t  i;

    memcpy(p, prefix, len);
    p += len;

    for (i = 0; i < key->build_len; i++) {
        *p++ = key_hex_lower[key->build[i] >> 4];
        *p++ = key_hex_lower[key->build[i] & 0xf];
    }

    return p;
}

static char *
key_debug_id_print(char *p, const symcache_key_t *key)
{
    symcache_vector_hex_print(p, key->guid, 'A');
    symcache_vector_hex_print(p + 16, key->guid + 8, 'A');

    return key_hex_number_print(p + 32, key->age, key_hex_upper);
}

size_t
symcache_id_print(char *buf, const symcache_key_t *key)
{
    char  *p;

    switch (key->id_type) {

    case SYMCACHE_ID_PE:
        p = key_pe_id_print(buf, key);
        break;

    case SYMCACHE_ID_BUILD:
        p = key_bytes_print(buf, KEY_BUILD_PREFIX,
                            KEY_BUILD_PREFIX_LEN, key);
        break;

    case SYMCACHE_ID_HASH:
        p = key_bytes_print(buf, KEY_HASH_PREFIX,
                            KEY_HASH_PREFIX_LEN, key);
        break;

    default: /* SYMCACHE_ID_DEBUG */
        p = key_debug_id_print(buf, key);
    }

    *p = '\0';

    return (size_t) (p - buf);
}

size_t
symcache_key_print(char *buf, const symcache_key_t *key)
{
    char        *p;
    size_t       n;
    const char  *kind;

    p = buf;

    if (key->kind != SYMCACHE_KIND_SYMCACHE) {
        kind = symcache_kind_text((symcache_kind_e) key->kind);
        n = strlen(kind);
        memcpy(p, kind, n);
        p += n;
        *p++ = ':';
    }

    memcpy(p, key->name, key->name_len);
    p += key->name_len;
    *p++ = '/';

    return (size_t) (p - buf) + symcache_id_print(p, key);
}

int
symcache_key_same_module(const symcache_key_t *a, const symcache_key_t *b)
{
    return a->name_len == b->name_len
           && memcmp(a->name, b->name, a->name_len) == 0
           && symcache_key_same_id(a, b);
}

int
symcache_key_same_id(const symcache_key_t *a, const symcache_key_t *b)
{
    if (a->id_type != b->id_type) {
        return 0;
    }

    switch (a->id_type) {

    case SYMCACHE_ID_PE:
        return a->timestamp == b->timestamp && a->image_size == b->image_size;

    case SYMCACHE_ID_BUILD:
    case SYMCACHE_ID_HASH:
        return a->build_len == b->build_len
               && memcmp(a->build, b->build, a->build_len) == 0;

    default: /* SYMCACHE_ID_DEBUG */
        return a->age == b->age && memcmp(a->guid, b->guid, 16) == 0;
    }
}

int
symcache_key_equal(const symcache_key_t *a, const symcache_key_t *b)
{
    return a->kind == b->kind && symcache_key_same_module(a, b);
}

int
symcache_key_cmp_id(const symcache_key_t *a, const symcache_key_t *b)
{
    size_t  len;

    if (a->kind != b->kind) {
        return (int) a->kind - (int) b->kind;
    }

    if (a->id_type != b->id_type) {
        return (int) a->id_type - (int) b->id_type;
    }

    len = offsetof(symcache_key_t, age) - offsetof(symcache_key_t, guid)
          + sizeof(a->age);

    if (a->id_type == SYMCACHE_ID_PE) {
        len = 2 * sizeof(a->timestamp);

    } else if (a->id_type != SYMCACHE_ID_DEBUG) {

        if (a->build_len != b->build_len) {
            return (int) a->build_len - (int) b->build_len;
        }

        len = a->build_len;
    }

    return memcmp(a->build, b->build, len);
}

void
symcache_key_copy(symcache_key_t *to, const symcache_key_t *from)
{
    memcpy(to, from, offsetof(symcache_key_t, name) + from->name_len + 1);
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
