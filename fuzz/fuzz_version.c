/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: versions and the answer rule.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const uint8_t *data, size_t size)
{
    symcache_ask_t ask;
    symcache_answer_e answer;
    symcache_version_t best, made;

    memset(&ask, 0, sizeof(ask));
    memcpy(&ask.version, data, 6);
    memcpy(&ask.min, data + 6, 6);
    memcpy(&best, data + 12, 6);
    memcpy(&made, data + 18, 6);
    ask.has_exceeds =
        symcache_answer_exceeds((const char *)data + 24, size - 24, &ask) != 0;
    answer = symcache_answer(&ask, best.patch & 1 ? &best : NULL,
                             made.patch & 1 ? &made : NULL);
    if ((answer == SYMCACHE_ANSWER_HIT || answer == SYMCACHE_ANSWER_STALE) &&
        !(best.patch & 1)) {
        abort();
    }
    if (answer == SYMCACHE_ANSWER_NOT_MODIFIED && !ask.has_exceeds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n;
    symcache_version_t a, b;
    char text[SYMCACHE_VERSION_TEXT_MAX + 1];

    if (symcache_version_parse((const char *)data, size, &a)) {
        n = symcache_version_print(text, &a);
        if (!symcache_version_parse(text, n, &b) ||
            symcache_version_cmp(&a, &b) != 0) {
            abort();
        }
    }
    if (size >= 24) {
        check_answer(data, size);
    }
    return 0;
}
