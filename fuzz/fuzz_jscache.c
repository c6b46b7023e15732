/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a JsCache.
 */
#include <stdlib.h>

#include "derived/jscache/jscache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[200] = "";
    uint32_t i;
    bool is_sound;
    struct jscache_reader reader;
    struct jscache_token token;
    struct jscache_file file;
    struct symc_string line;

    if (jscache_reader_open(&reader, data, size, error, sizeof(error)) !=
        SYMC_OPENED) {
        if (error[0] == '\0') {
            abort();
        }
        return 0;
    }
    is_sound = jscache_verify(&reader, error, sizeof(error)) == SYMC_SOUND;
    if (!is_sound && error[0] == '\0') {
        abort();
    }
    for (i = 0; i < reader.num_positions; i++) {
        jscache_reader_token(&reader, i, &token);
        jscache_reader_lookup(&reader, token.minified_line,
                              token.minified_column, i % 2 == 0, &token);
        if (jscache_reader_file(&reader, token.file, &file)) {
            jscache_reader_line(&reader, token.file, token.line, &line);
        } else if (is_sound && token.file != JSCACHE_NONE) {
            abort();
        }
    }
    return 0;
}
