/*
 * Copyright (C) the ngx_symcache authors
 *
 * CFI of a file that is in memory, as text or as a CfiCache, and what such a
 * CfiCache says of an address.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "debuginfo/cfi.h"
#include "debuginfo/format.h"
#include "derived/cficache/cficache.h"

struct output {
    uint8_t data[8192];
    size_t size;
};

static int append(void *context, const void *data, size_t size)
{
    struct output *out = context;

    assert_true(size <= sizeof(out->data) - out->size);
    memcpy(out->data + out->size, data, size);
    out->size += size;
    return 0;
}

static void convert(const struct debuginfo_format *format, const uint8_t *data,
                    size_t size, bool is_text, struct output *out)
{
    struct failure failure = {0};
    struct debuginfo_result result;
    struct symc_sink sink = {append, out};

    out->size = 0;
    assert_int_equal(cfi_convert(format->makes[1].read_cfi, is_text, data,
                                 size, &sink, &result, &failure),
                     0);
}

/* Writes what is known of an address, the CFA first and the return address
 * then: "" is nothing. */
static void describe(const struct output *cache, uint32_t address,
                     bool is_corrected, char *text, size_t size)
{
    char error[200];
    unsigned i;
    struct symc_string names[CFICACHE_NAMES];
    struct cficache_reader r;
    struct cficache_row row;
    struct cficache_rule rule;

    text[0] = '\0';
    assert_int_equal(cficache_reader_open(&r, cache->data, cache->size, error,
                                          sizeof(error)),
                     SYMC_OPENED);
    cficache_reader_names(&r, names);
    if (!cficache_reader_lookup(&r, address, is_corrected, &row)) {
        return;
    }
    for (i = 0; i < row.count; i++) {
        rule = cficache_reader_rule(&r, &row, i);
        assert_true(rule.kind == CFICACHE_VALUE || rule.kind == CFICACHE_AT);
        if (i > 1) {
            snprintf(text + strlen(text), size - strlen(text), " %.*s:",
                     (int)names[rule.target].size, names[rule.target].data);
        }
        snprintf(text + strlen(text), size - strlen(text), "%s%.*s%+d%s",
                 i > 0 ? " " : "",
                 rule.base == CFICACHE_CFA ? 4 : (int)names[rule.base].size,
                 rule.base == CFICACHE_CFA ? ".cfa" : names[rule.base].data,
                 (int)rule.number,
                 rule.kind == CFICACHE_AT ? "^" : "");
    }
}
