
/*
 * Copyright (C) the ngx_symcache authors
 */


#include <string.h>
#include "symcache_path.h"


#define SYMCACHE_SUFFIXES  3


/* in the order of symcache_file_e */

static const char  *symcache_path_suffix[SYMCACHE_SUFFIXES] = {
    ".symcache",
    ".symcache.gz",
    ".absent"
};


static char *
symcache_path_copy(char *p, const char *src, size_t len)
{
    memcpy(p, src, len);

    return p + len;
}


size_t
symcache_path_dir(char *buf, const symcache_key_t *key)
{
    char  *p;

    p = symcache_path_copy(buf, key->name, key->name_len);
    *p++ = '/';
    p += symcache_id_print(p, key);

    return (size_t) (p - buf);
}


size_t
symcache_path_name(char *buf, const symcache_key_t *key,
    const symcache_version_t *version, symcache_file_e file)
{
    char  *p;

    p = symcache_path_copy(buf, key->name, key->name_len);
    *p++ = '-';
    *p++ = 'v';
    p += symcache_version_print(p, version);
    p = symcache_path_copy(p, symcache_path_suffix[file],
                           strlen(symcache_path_suffix[file]) + 1);

    return (size_t) (p - buf) - 1;
}


size_t
symcache_path_file(char *buf, const symcache_key_t *key,
    const symcache_version_t *version, symcache_file_e file)
{
    size_t  n;

    n = symcache_path_dir(buf, key);
    buf[n++] = '/';

    return n + symcache_path_name(buf + n, key, version, file);
}


int
symcache_path_storable(const symcache_key_t *key)
{
    return key->name_len <= SYMCACHE_STORED_NAME_MAX;
}


int
symcache_path_name_parse(const char *p, size_t len, const symcache_key_t *key,
    symcache_version_t *version, symcache_file_e *file)
{
    int                 i;
    char                text[SYMCACHE_VERSION_TEXT_MAX + 1];
    size_t              n;
    symcache_version_t  v;

    if (len < key->name_len + 2
        || memcmp(p, key->name, key->name_len) != 0
        || memcmp(p + key->name_len, "-v", 2) != 0)
    {
        return 0;
    }

    p += key->name_len + 2;
    len -= key->name_len + 2;

    for (i = 0; i < SYMCACHE_SUFFIXES; i++) {
        n = strlen(symcache_path_suffix[i]);

        if (len <= n || memcmp(p + len - n, symcache_path_suffix[i], n) != 0) {
            continue;
        }

        n = len - n;

        if (!symcache_version_parse(p, n, &v)) {
            return 0;
        }

        /* "03.1.0" would be a second name of the same version */

        if (symcache_version_print(text, &v) != n || memcmp(text, p, n) != 0) {
            return 0;
        }

        *version = v;
        *file = (symcache_file_e) i;

        return 1;
    }

    return 0;
}


int
symcache_path_file_parse(const char *p, size_t len, symcache_key_t *key,
    symcache_version_t *version, symcache_file_e *file)
{
    char         dir[SYMCACHE_PATH_MAX + 1];
    size_t       n, id;
    const char  *slash, *second;

    slash = memchr(p, '/', len);
    if (slash == NULL) {
        return 0;
    }

    n = (size_t) (slash - p);

    second = memchr(slash + 1, '/', len - n - 1);
    if (second == NULL) {
        return 0;
    }

    id = (size_t) (second - slash) - 1;

    if (symcache_name_parse(p, n, key) != SYMCACHE_OK
        || symcache_id_parse(slash + 1, id, key) != SYMCACHE_OK)
    {
        return 0;
    }

    n = symcache_path_dir(dir, key);

    if (n != (size_t) (second - p) || memcmp(dir, p, n) != 0) {
        return 0;
    }

    return symcache_path_name_parse(second + 1, len - n - 1, key, version,
                                    file);
}
