/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fuzz target: STACK CFI records that the input chooses, as text and in a
 * CfiCache.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CFI_TEXT_CHECK(is_so)                                                 \
    do {                                                                      \
        if (!(is_so)) {                                                       \
            abort();                                                          \
        }                                                                     \
    } while (0)

#include "../t/unit/cfi_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *choices;
static size_t left;

static unsigned random_below(unsigned n)
{
    if (left == 0) {
        return 0;
    }
    left--;
    return *choices++ % n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    choices = data;
    left = size;
    cfi_text_compare();
    return 0;
}
