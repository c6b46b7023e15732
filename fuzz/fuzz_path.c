/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: paths of the store.  A path that was read must be written the
 * same way.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n;
    symcache_key_t key;
    symcache_file_e file, other;
    symcache_version_t version;
    char text[SYMCACHE_PATH_MAX + 1];
    const char *p = (const char *)data;

    memset(&key, 0, sizeof(key));
    if (symcache_path_file_parse(p, size, &key, &version, &file)) {
        n = symcache_path_file(text, &key, &version, file);
        if (n != size || memcmp(text, p, n) != 0) {
            abort(); /* the parser must accept only the store's own form */
        }
        n = symcache_path_name(text, &key, &version, file);
        if (!symcache_path_name_parse(text, n, &key, &version, &other) ||
            other != file) {
            abort();
        }
    }
    return 0;
}
