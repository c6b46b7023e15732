/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: request paths, keys and their parts.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/hints.h"
#include "proto/key.h"
#include "proto/path.h"
#include "proto/request.h"
#include "proto/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was accepted must survive being written and read again. */
static void check_key(const symcache_key_t *key,
                      const symcache_version_t *version)
{
    size_t n;
    symcache_key_t again;
    symcache_file_e file;
    symcache_version_t other;
    char text[SYMCACHE_PATH_MAX + 1];

    if (key->name_len == 0 || key->name_len > SYMCACHE_NAME_MAX ||
        key->name[key->name_len] != '\0' || strchr(key->name, '/') != NULL ||
        strcmp(key->name, "..") == 0 || strcmp(key->name, ".") == 0) {
        abort();
    }
    n = symcache_path_file(text, key, version, SYMCACHE_FILE_GZIP);
    if (n > SYMCACHE_PATH_MAX ||
        !symcache_path_file_parse(text, n, &again, &other, &file) ||
        file != SYMCACHE_FILE_GZIP || !symcache_key_equal(&again, key) ||
        symcache_version_cmp(&other, version) != 0) {
        abort();
    }
}

/* The same check for an id, with every type and every kind. */
static void check_id(const char *p, size_t size)
{
    static const symcache_version_t version = {3, 1, 0};
    char text[SYMCACHE_ID_TEXT_MAX + 1];
    symcache_key_t key, again;
    size_t n;

    symcache_name_parse("_", 1, &key);
    if (symcache_id_parse(p, size, &key) != SYMCACHE_OK) {
        return;
    }
    again = key;
    n = symcache_id_print(text, &key);
    if (n > SYMCACHE_ID_TEXT_MAX ||
        symcache_id_parse(text, n, &again) != SYMCACHE_OK ||
        !symcache_key_equal(&again, &key)) {
        abort();
    }
    for (int kind = 0; kind < SYMCACHE_KINDS; kind++) {
        key.kind = (uint8_t)kind;
        check_key(&key, &version);
    }
}

/* The normal form of a URL has itself as its form, and is a hint whose value is
 * found again. */
static void check_url(const char *p, size_t size)
{
    char form[SYMCACHE_URL_MAX + 1], again[SYMCACHE_URL_MAX + 1];
    char hints[SYMCACHE_HINTS_MAX + 1] = "", value[SYMCACHE_URL_MAX + 1];
    size_t n = symcache_url_normalise(form, p, size);

    if (n == 0) {
        return;
    }
    if (n != strlen(form) || symcache_url_normalise(again, form, n) != n ||
        strcmp(again, form) != 0) {
        abort();
    }
    if (symcache_hint_add(hints, SYMCACHE_HINT_URL, form, n)) {
        symcache_hint_get_url(hints, value);
        if (strcmp(value, form) != 0 || !symcache_hints_proved(hints)) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t age;
    uint8_t guid[16];
    symcache_key_t key;
    symcache_request_t req;
    const char *p = (const char *)data;

    if (symcache_request_parse(p, size, &req) == SYMCACHE_OK) {
        check_key(&req.key, &req.version);
    }
    symcache_name_parse(p, size, &key);
    symcache_guid_parse(p, size, guid);
    symcache_age_parse(p, size, &age);
    check_id(p, size);
    check_url(p, size);
    return 0;
}
