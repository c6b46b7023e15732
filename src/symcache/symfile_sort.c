/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "symfile_sort.h"

#define FEW 40

static void insertion(uint64_t *keys, size_t n)
{
    size_t i, j;
    uint64_t k;

    for (i = 1; i < n; i++) {
        k = keys[i];
        for (j = i; j > 0 && keys[j - 1] > k; j--) {
            keys[j] = keys[j - 1];
        }
        keys[j] = k;
    }
}

static int ascending(const uint64_t *keys, size_t n, uint64_t *differ)
{
    int sorted;
    size_t i;

    sorted = 1;
    *differ = 0;
    for (i = 1; i < n; i++) {
        sorted &= keys[i - 1] <= keys[i];
        *differ |= keys[i - 1] ^ keys[i];
    }
    return sorted;
}

void symfile_sort(uint64_t *keys, uint64_t *tmp, size_t n)
{
    unsigned shift;
    size_t i, at, count[256], sum;
    uint64_t differ, *from, *to, *swap;

    if (n <= FEW) {
        insertion(keys, n);
        return;
    }
    if (ascending(keys, n, &differ)) {
        return;
    }
    from = keys;
    to = tmp;
    for (shift = 0; shift < 64; shift += 8) {
        if (((differ >> shift) & 0xFF) == 0) {
            continue;
        }
        memset(count, 0, sizeof(count));
        for (i = 0; i < n; i++) {
            count[(from[i] >> shift) & 0xFF]++;
        }
        for (i = 0, sum = 0; i < 256; i++) {
            at = count[i];
            count[i] = sum;
            sum += at;
        }
        for (i = 0; i < n; i++) {
            to[count[(from[i] >> shift) & 0xFF]++] = from[i];
        }
        swap = from;
        from = to;
        to = swap;
    }
    if (from != keys) {
        memcpy(keys, from, n * sizeof(*keys));
    }
}
