/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: paths of the store, and of a symbol server.  A path of the store
 * that was read must be written the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/path.h"
#include "proto/symbol_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a symbol server is asked for must be what a key can be, and lie at a
 * path that cleaning knows. */
static void ask(const char *p, size_t size)
{
    char text[SYMCACHE_PATH_MAX + 1];
    symcache_request_t req;
    const char *file;

    memset(&req, 0, sizeof(req));
    if (symcache_symbol_parse(p, size, &req) == SYMCACHE_SYMBOL_NONE) {
        return;
    }
    if (!symcache_key_supported(&req.key) ||
        symcache_path_original(text, &req.key) > SYMCACHE_PATH_MAX) {
        abort();
    }
    file = strrchr(text, '/') + 1;
    if (!symcache_path_original_parse(file, strlen(file), &req.key)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n;
    symcache_key_t key;
    symcache_file_e file, other;
    symcache_version_t version;
    char text[SYMCACHE_PATH_MAX + 1];
    const char *p = (const char *)data;

    ask(p, size);
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
