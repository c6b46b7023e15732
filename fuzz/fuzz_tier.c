/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: the metadata of an object in a tier.  What is accepted is safe
 * in an attribute and a header, and is the same when it is written and read
 * again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symcached/tier/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[TIER_META_MAX], lines[TIER_META_MAX];
    struct tier_meta meta, again;

    size = size < sizeof(text) ? size : sizeof(text) - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    if (tier_meta_read(&meta, text) != NULL) {
        return 0;
    }
    if (strpbrk(meta.source, " \t\r\n/:") != NULL || meta.size == 0 ||
        strlen(meta.sha256) != DIGEST_HEX) {
        abort();
    }
    tier_meta_print(&meta, lines);
    if (tier_meta_read(&again, lines) != NULL || again.size != meta.size ||
        strcmp(again.sha256, meta.sha256) != 0 ||
        strcmp(again.source, meta.source) != 0 ||
        again.publics_only != meta.publics_only ||
        strcmp(again.mac, meta.mac) != 0) {
        abort();
    }
    return 0;
}
