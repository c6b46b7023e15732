/*
 * Copyright (C) the ngx_symcache authors
 */

#include "delta_encoding.h"

#include <string.h>

#define DELTA_FAR 0xFF /* the difference follows in 4 bytes */

static const uint8_t delta_sizes[4] = {0, 1, 2, 4};

/* the code (index into sizes) of a value by its number of significant bits */
static const uint8_t delta_codes[33] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2,
                                        2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3,
                                        3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
static const uint32_t delta_masks[4] = {0, 0xFF, 0xFFFF, 0xFFFFFFFF};

uint8_t *symc_pack_addresses(uint8_t *to, const uint32_t *addresses, size_t n)
{
    size_t i;
    uint32_t delta;

    for (i = 1; i < n; i++) {
        delta = addresses[i] - addresses[i - 1];
        if (delta < DELTA_FAR) {
            *to++ = (uint8_t)delta;
        } else {
            *to++ = DELTA_FAR;
            le32_store(to, delta);
            to += 4;
        }
    }
    return to;
}

void symc_unpack_addresses(const uint8_t *from, uint32_t first,
                           uint32_t *addresses, size_t n)
{
    size_t i;

    addresses[0] = first;
    for (i = 1; i < n; i++) {
        if (*from < DELTA_FAR) {
            first += *from++;
        } else {
            first += le32(from + 1);
            from += 5;
        }
        addresses[i] = first;
    }
}

static inline uint8_t *delta_put(uint8_t *to, uint32_t before, uint32_t now,
                                 unsigned shift, unsigned *control)
{
    uint32_t delta;
    unsigned code;

    delta = now - before;
    delta = delta << 1 ^ (0u - (delta >> 31));
    code = delta_codes[63 - __builtin_clzll((uint64_t)delta << 1 | 1)];
    *control |= code << shift;
    le32_store(to, delta);
    return to + delta_sizes[code];
}

uint8_t *symc_pack_locations(uint8_t *to,
                             const struct symc_location *locations, size_t n)
{
    size_t i;
    uint8_t *first;
    unsigned control;
    static const struct symc_location zero;
    const struct symc_location *now, *before;

    before = &zero;
    for (i = 0; i < n; i++) {
        now = &locations[i];
        first = to++;
        control = 0;
        to = delta_put(to, before->line, now->line, 0, &control);
        to = delta_put(to, before->file, now->file, 2, &control);
        to = delta_put(to, before->function, now->function, 4, &control);
        to = delta_put(to, before->inlined_into, now->inlined_into, 6,
                       &control);
        *first = (uint8_t)control;
        before = now;
    }
    return to;
}

static inline const uint8_t *delta_take(const uint8_t *from, unsigned code,
                                        uint32_t *value)
{
    uint32_t delta;

    delta = le32(from) & delta_masks[code];
    *value += delta >> 1 ^ (0u - (delta & 1));
    return from + delta_sizes[code];
}

const uint8_t *symc_unpack_locations(const uint8_t *from,
                                     struct symc_location *last,
                                     struct symc_location *locations, size_t n)
{
    size_t i;
    unsigned control;
    struct symc_location now;

    now = *last;
    for (i = 0; i < n; i++) {
        control = *from++;
        from = delta_take(from, control & 3, &now.line);
        from = delta_take(from, control >> 2 & 3, &now.file);
        from = delta_take(from, control >> 4 & 3, &now.function);
        from = delta_take(from, control >> 6, &now.inlined_into);
        locations[i] = now;
    }
    *last = now;
    return from;
}

#define LINE_BITS 20
#define FILE_BITS 12
#define INDEX_BITS 16 /* of a function and of its caller */

bool symc_narrow_locations(uint8_t *to, const struct symc_location *locations,
                           size_t n)
{
    size_t i;
    uint32_t line, file, function, caller, excess;
    uint64_t word;

    excess = 0;
    for (i = 0; i < n; i++) {
        line = locations[i].line;
        file = locations[i].file + 1; /* SYMC_NONE becomes 0 */
        function = locations[i].function;
        caller = locations[i].inlined_into + 1;
        excess |= line >> LINE_BITS | file >> FILE_BITS |
                  (function | caller) >> INDEX_BITS;
        word = (uint64_t)(caller << INDEX_BITS | function) << 32 |
               (file << LINE_BITS | line);
        memcpy(to + 8 * i, &word, 8);
    }
    return excess == 0;
}

void symc_widen_locations(const uint8_t *from, struct symc_location *locations,
                          size_t n)
{
    size_t i;
    uint64_t word;
    uint32_t low, high;

    for (i = 0; i < n; i++) {
        memcpy(&word, from + 8 * i, 8);
        low = (uint32_t)word;
        high = (uint32_t)(word >> 32);
        locations[i].file = (low >> LINE_BITS) - 1;
        locations[i].line = low & ((1u << LINE_BITS) - 1);
        locations[i].function = high & ((1u << INDEX_BITS) - 1);
        locations[i].inlined_into = (high >> INDEX_BITS) - 1;
    }
}
