/*
 * Copyright (C) the ngx_symcache authors
 */

#include "sort.h"

#include <stdbool.h>
#include <string.h>

#define FEW 16
#define SOME 64
#define FEW_DIGITS 256
#define DIGITS 2048
#define MANY DIGITS /* keys, beside which going through all digits is little  \
                     */

static void sort_insertion(uint64_t *keys, size_t n)
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

/* Returns the end of the ascending run that begins at i. */
static size_t sort_run_end(const uint64_t *keys, size_t i, size_t n)
{
    for (i++; i < n && keys[i - 1] <= keys[i]; i++) {
    }
    return i;
}

/* Merges [a, a_end) and [b, b_end).  The comparison is used as a number, as the
 * processor would often mispredict a branch on it. */
static void sort_merge(const uint64_t *a, const uint64_t *a_end,
                       const uint64_t *b, const uint64_t *b_end, uint64_t *to)
{
    int is_b;

    while (a < a_end && b < b_end) {
        is_b = *b < *a;
        *to++ = is_b ? *b : *a;
        b += is_b;
        a += !is_b;
    }
    memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
    to += a_end - a;
    memmove(to, b, (size_t)(b_end - b) * sizeof(*b)); /* to may be b */
}

/* Merges neighbouring runs of at most SOME keys until one is left. */
static void sort_merge_runs(uint64_t *keys, uint64_t *tmp, size_t n)
{
    size_t i, begin, end, merged, runs = 0, ends[SOME];
    uint64_t *from = keys, *to = tmp, *swap;

    for (end = 0; end < n; runs++) {
        end = sort_run_end(keys, end, n);
        ends[runs] = end;
    }
    for (; runs > 1; runs = merged) {
        begin = merged = 0;
        for (i = 0; i < runs; i += 2) {
            end = ends[i + 1 < runs ? i + 1 : i];
            sort_merge(from + begin, from + ends[i], from + ends[i],
                       from + end, to + begin);
            ends[merged++] = end;
            begin = end;
        }
        swap = from;
        from = to;
        to = swap;
    }
    if (from != keys) {
        memcpy(keys, from, n * sizeof(*keys));
    }
}

/* Returns the bits in which keys differ: 0 if the keys are already sorted, and
 * without the low half if the low halves are. */
static uint64_t sort_unsorted_bits(const uint64_t *keys, size_t n)
{
    int sorted, low_sorted;
    size_t i;
    uint64_t differ;

    sorted = low_sorted = 1;
    differ = 0;
    for (i = 1; i < n; i++) {
        sorted &= keys[i - 1] <= keys[i];
        low_sorted &= (uint32_t)keys[i - 1] <= (uint32_t)keys[i];
        differ |= keys[i - 1] ^ keys[i];
    }
    return sorted ? 0 : low_sorted ? differ & ~(uint64_t)UINT32_MAX : differ;
}

/* Sorts by the bits of a mask, which are shifted down. */
static void sort_radix_pass(const uint64_t *from, uint64_t *to, size_t n,
                            unsigned shift, size_t mask)
{
    size_t i, at, count[DIGITS], sum = 0;

    memset(count, 0, (mask + 1) * sizeof(*count));
    for (i = 0; i < n; i++) {
        count[(from[i] >> shift) & mask]++;
    }
    for (i = 0; i <= mask; i++) {
        at = count[i];
        count[i] = sum;
        sum += at;
    }
    for (i = 0; i < n; i++) {
        to[count[(from[i] >> shift) & mask]++] = from[i];
    }
}

/* Takes only bits in which keys differ.  Most addresses are aligned, and all
 * of a file have the same bits at the top, so that two or three passes do. */
static void sort_radix(uint64_t *keys, uint64_t *tmp, size_t n)
{
    unsigned shift;
    size_t mask = n < MANY ? FEW_DIGITS - 1 : DIGITS - 1;
    uint64_t differ, *from, *to, *swap;

    from = keys;
    to = tmp;
    for (differ = sort_unsorted_bits(keys, n); differ != 0;
         differ &= ~((uint64_t)mask << shift)) {
        shift = (unsigned)__builtin_ctzll(differ);
        sort_radix_pass(from, to, n, shift, mask);
        swap = from;
        from = to;
        to = swap;
    }
    if (from != keys) {
        memcpy(keys, from, n * sizeof(*keys));
    }
}

void sort_keys(uint64_t *keys, uint64_t *tmp, size_t n)
{
    if (n <= FEW) {
        sort_insertion(keys, n);
    } else if (n <= SOME) {
        sort_merge_runs(keys, tmp, n);
    } else {
        sort_radix(keys, tmp, n);
    }
}

void sort_tightly(uint64_t *keys, uint64_t *tmp, size_t n)
{
    size_t half = n / 2;

    sort_keys(keys, tmp, half);
    sort_keys(keys + half, tmp, n - half);
    if (half > 0 && keys[half - 1] > keys[half]) {
        memcpy(tmp, keys, half * sizeof(*keys));
        sort_merge(tmp, tmp + half, keys + half, keys + n, keys);
    }
}

size_t sort_distinct(uint64_t *keys, size_t n)
{
    size_t i, out = 0;

    for (i = 0; i < n; i++) {
        if (out == 0 || keys[out - 1] >> 32 != keys[i] >> 32) {
            keys[out++] = keys[i];
        }
    }
    return out;
}

/* As sort_radix_pass(), of words. */
static void sort_radix_words(const uint32_t *from, uint32_t *to, size_t n,
                             unsigned shift, size_t mask)
{
    size_t i, at, count[DIGITS], sum = 0;

    memset(count, 0, (mask + 1) * sizeof(*count));
    for (i = 0; i < n; i++) {
        count[(from[i] >> shift) & mask]++;
    }
    for (i = 0; i <= mask; i++) {
        at = count[i];
        count[i] = sum;
        sum += at;
    }
    for (i = 0; i < n; i++) {
        to[count[(from[i] >> shift) & mask]++] = from[i];
    }
}

void sort_words(uint32_t *words, uint32_t *tmp, size_t n)
{
    size_t i, mask = n < MANY ? FEW_DIGITS - 1 : DIGITS - 1;
    unsigned shift;
    uint32_t differ = 0, *from = words, *to = tmp, *swap;
    bool sorted = true;

    for (i = 1; i < n; i++) {
        sorted &= words[i - 1] <= words[i];
        differ |= words[i - 1] ^ words[i];
    }
    for (differ = sorted ? 0 : differ; differ != 0;
         differ &= ~((uint32_t)mask << shift)) {
        shift = (unsigned)__builtin_ctz(differ);
        sort_radix_words(from, to, n, shift, mask);
        swap = from;
        from = to;
        to = swap;
    }
    if (from != words) {
        memcpy(words, from, n * sizeof(*words));
    }
}
