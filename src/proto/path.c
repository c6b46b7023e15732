
/*
 * Copyright (C) the ngx_symcache authors
 */

#include "path.h"

#include <string.h>

#define SYMCACHE_FILES  3

/* The longest name that file systems take. */
#define SYMCACHE_PATH_NAME_MAX  255

typedef struct {
    const char  *text;
    size_t       len;
} symcache_path_end_t;

#define SYMCACHE_END(text)   { text, sizeof(text) - 1 }

/* The end of a name, after the kind, in the order of symcache_file_e. */

static const symcache_path_end_t  symcache_path_ends[SYMCACHE_FILES] = {
    SYMCACHE_END(""),
    SYMCACHE_END(".gz"),
    SYMCACHE_END(".absent")
};

static char *
symcache_path_copy(char *p, const char *src, size_t len)
{
    memcpy(p, src, len);

    return p + len;
}

/* The end of a name, after the version: a kind and an end. */

static char *
symcache_path_end(char *p, int kind, symcache_file_e file)
{
    const symcache_kind_t      *k;
    const symcache_path_end_t  *end;

    if (kind != SYMCACHE_KIND_SYMCACHE || file != SYMCACHE_FILE_ABSENT) {
        k = symcache_kind((symcache_kind_e) kind);
        *p++ = '.';
        p = symcache_path_copy(p, k->text, k->len);
    }

    if (file == SYMCACHE_FILE_PLAIN) {
        return p;
    }

    end = &symcache_path_ends[file];

    return symcache_path_copy(p, end->text, end->len);
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

static inline char *
symcache_path_put_name(char *p, const symcache_key_t *key,
    const symcache_version_t *version, symcache_file_e file)
{
    p = symcache_path_copy(p, key->name, key->name_len);
    *p++ = '-';
    *p++ = 'v';
    p += symcache_version_print(p, version);
    p = symcache_path_end(p, key->kind, file);
    *p = '\0';

    return p;
}

size_t
symcache_path_name(char *buf, const symcache_key_t *key,
    const symcache_version_t *version, symcache_file_e file)
{
    return (size_t) (symcache_path_put_name(buf, key, version, file) - buf);
}

size_t
symcache_path_file(char *buf, const symcache_key_t *key,
    const symcache_version_t *version, symcache_file_e file)
{
    char  *p;

    p = buf + symcache_path_dir(buf, key);
    *p++ = '/';

    return (size_t) (symcache_path_put_name(p, key, version, file) - buf);
}

size_t
symcache_path_original_name(char *buf, const symcache_key_t *key)
{
    char        *p;
    const char  *end;

    end = symcache_kind((symcache_kind_e) key->kind)->end;

    if (end == NULL) {
        end = "";    /* as of debug information */
    }

    p = symcache_path_copy(buf, key->name, key->name_len);
    p = symcache_path_copy(p, end, strlen(end) + 1);

    return (size_t) (p - buf) - 1;
}

size_t
symcache_path_original(char *buf, const symcache_key_t *key)
{
    size_t  n;

    n = symcache_path_dir(buf, key);
    buf[n++] = '/';

    return n + symcache_path_original_name(buf + n, key);
}

/* The longest end of a name, after the version. */

static size_t
symcache_path_end_max(int kind)
{
    size_t  text, gzip, absent;

    text = symcache_kind((symcache_kind_e) kind)->len + 1;
    gzip = symcache_path_ends[SYMCACHE_FILE_GZIP].len;
    absent = symcache_path_ends[SYMCACHE_FILE_ABSENT].len;

    return text + (kind == SYMCACHE_KIND_SYMCACHE ? gzip : absent);
}

size_t
symcache_path_max(const symcache_key_t *key)
{
    size_t  id;

    id = (key->id_type == SYMCACHE_ID_BUILD
          || key->id_type == SYMCACHE_ID_HASH) ? key->build_len
                                               : sizeof(key->guid);

    return 2 * (size_t) key->name_len + 2 + 8 + 2 * id
           + 2 + SYMCACHE_VERSION_TEXT_MAX
           + symcache_path_end_max(key->kind);
}

int
symcache_path_storable(const symcache_key_t *key)
{
    /* Nearly all keys are short enough for any kind, and a hit asks twice. */

    if (key->name_len <= SYMCACHE_PATH_NAME_MAX - SYMCACHE_PATH_END_MAX) {
        return 1;
    }

    return key->name_len + 2 + SYMCACHE_VERSION_TEXT_MAX
           + symcache_path_end_max(key->kind)
           <= SYMCACHE_PATH_NAME_MAX;
}

int
symcache_path_id_parse(const char *p, size_t len, symcache_key_t *key)
{
    char  text[SYMCACHE_ID_TEXT_MAX + 1];

    return symcache_id_parse(p, len, key) == SYMCACHE_OK
           && symcache_id_print(text, key) == len
           && memcmp(text, p, len) == 0
           && symcache_id_supported((symcache_id_e) key->id_type);
}

static int
symcache_path_read(const char *p, size_t len, const symcache_key_t *key,
    symcache_kind_e kind, symcache_version_t *version, symcache_file_e *file)
{
    int                 i;
    char                end[SYMCACHE_PATH_END_MAX];
    char                text[SYMCACHE_VERSION_TEXT_MAX + 1];
    size_t              n, end_len;
    symcache_version_t  v;

    if (len < key->name_len + 2
        || memcmp(p, key->name, key->name_len) != 0
        || memcmp(p + key->name_len, "-v", 2) != 0)
    {
        return 0;
    }

    p += key->name_len + 2;
    len -= key->name_len + 2;

    for (i = 0; i < SYMCACHE_FILES; i++) {
        end_len = (size_t) (symcache_path_end(end, kind, (symcache_file_e) i)
                            - end);

        if (len <= end_len || memcmp(p + len - end_len, end, end_len) != 0) {
            continue;
        }

        n = len - end_len;

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
symcache_path_name_parse(const char *p, size_t len, const symcache_key_t *key,
    symcache_version_t *version, symcache_file_e *file)
{
    return symcache_path_read(p, len, key, (symcache_kind_e) key->kind,
                              version, file);
}

int
symcache_path_entry_parse(const char *p, size_t len, symcache_key_t *key,
    symcache_version_t *version, symcache_file_e *file)
{
    int  kind;

    for (kind = 0; kind < SYMCACHE_KINDS; kind++) {

        if (symcache_path_read(p, len, key, (symcache_kind_e) kind, version,
                               file))
        {
            key->kind = (uint8_t) kind;
            return 1;
        }
    }

    return 0;
}

int
symcache_path_original_parse(const char *p, size_t len, symcache_key_t *key)
{
    int             kind;
    char            name[SYMCACHE_NAME_MAX + SYMCACHE_PATH_END_MAX + 1];
    symcache_key_t  each;

    symcache_key_copy(&each, key);

    for (kind = 0; kind < SYMCACHE_KINDS; kind++) {
        each.kind = (uint8_t) kind;

        if (symcache_kind((symcache_kind_e) kind)->end
            && symcache_path_original_name(name, &each) == len
            && memcmp(name, p, len) == 0)
        {
            key->kind = (uint8_t) kind;
            return 1;
        }
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

    return symcache_path_entry_parse(second + 1, len - n - 1, key, version,
                                     file);
}
