/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: request paths, keys and their parts.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/symcache_key.h"
#include "proto/symcache_path.h"

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
    n = symcache_id_print(text, key);
    if (n > SYMCACHE_ID_TEXT_MAX ||
        symcache_id_parse(text, n, &again) != SYMCACHE_OK ||
        memcmp(again.guid, key->guid, 16) != 0 || again.age != key->age) {
        abort();
    }
    n = symcache_path_file(text, key, version, SYMCACHE_FILE_GZIP);
    if (n > SYMCACHE_PATH_MAX ||
        !symcache_path_file_parse(text, n, &again, &other, &file) ||
        file != SYMCACHE_FILE_GZIP || strcmp(again.name, key->name) != 0 ||
        symcache_version_cmp(&other, version) != 0) {
        abort();
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
    symcache_id_parse(p, size, &key);
    return 0;
}
