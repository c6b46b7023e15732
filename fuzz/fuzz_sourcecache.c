/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: a SourceCache, which need not be sound.
 */
#include <stdlib.h>

#include "derived/sourcecache/sourcecache.h"
#include "symbolication/symbolication.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t guid[16];
    char error[200] = "", url[64];
    struct sourcecache_reader reader;
    struct sourcecache_entry entry;
    struct source_context context;
    struct text_lines known = {0};
    uint32_t i;

    if (sourcecache_reader_open(&reader, data, size, error, sizeof(error)) !=
        SYMC_OPENED) {
        if (error[0] == '\0') {
            abort();
        }
        return 0;
    }
    if (sourcecache_verify(&reader, error, sizeof(error)) != SYMC_SOUND &&
        error[0] == '\0') {
        abort();
    }
    for (i = 0; i < 50 && sourcecache_reader_entry(&reader, i, &entry); i++) {
        (void)source_context_read(&context, &known, &reader, &entry, 1);
        (void)source_context_read(&context, &known, &reader, &entry,
                                  entry.lines);
    }
    text_lines_free(&known);
    (void)sourcecache_find_path(&reader, "/a\\b", 4, &entry);
    (void)sourcecache_find_url(&reader, "~/a", 3, &entry);
    (void)sourcecache_find_id(&reader, guid, 0, SOURCECACHE_MAP, &entry);
    (void)sourcecache_link(&reader, "/a\\b", 4, url, sizeof(url));
    return 0;
}
