/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a PpdbCache, its verification and lookups in it.
 */
#include <stdlib.h>

#include "derived/ppdbcache/ppdbcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool is_sound, found;
    char error[200] = "";
    uint32_t i;
    uint64_t range;
    struct ppdbcache_reader reader;
    struct ppdbcache_place place;

    if (ppdbcache_reader_open(&reader, data, size, error, sizeof(error)) !=
        SYMC_OPENED) {
        if (error[0] == '\0') {
            abort();
        }
        return 0;
    }
    is_sound = ppdbcache_verify(&reader, error, sizeof(error)) == SYMC_SOUND;
    if (!is_sound && error[0] == '\0') {
        abort();
    }
    for (i = 0; i < reader.num_ranges && i < 64; i++) {
        range = ppdbcache_reader_range(&reader, i);
        found = ppdbcache_reader_lookup(&reader, (uint32_t)(range >> 32),
                                        (uint32_t)range, &place);
        if (is_sound && !found) {
            abort();
        }
    }
    (void)ppdbcache_reader_lookup(&reader, 0, 0, &place);
    (void)ppdbcache_reader_lookup(&reader, UINT32_MAX, UINT32_MAX, &place);
    return 0;
}
