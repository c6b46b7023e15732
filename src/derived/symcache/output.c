/*
 * Copyright (C) the ngx_symcache authors
 */
#include "output.h"

#include <string.h>

static void write_out(struct symc_output *out, const void *data, size_t size)
{
    if (size > 0 && !out->has_failed) {
        out->has_failed =
            out->sink->write(out->sink->context, data, size) != 0;
    }
}

void symc_output_write_block(struct symc_output *out)
{
    write_out(out, out->data, SYMC_OUTPUT_BLOCK);
    out->used -= SYMC_OUTPUT_BLOCK;
    memcpy(out->data, (uint8_t *)out->data + SYMC_OUTPUT_BLOCK, out->used);
}

void symc_output_flush(struct symc_output *out)
{
    write_out(out, out->data, out->used);
    out->used = 0;
}

void symc_output_align(struct symc_output *out, unsigned to)
{
    size_t n = (size_t)(-out->written & (to - 1));

    memset(symc_output_room(out, n), 0, n);
}

void symc_output_bytes(struct symc_output *out, const void *data, size_t size)
{
    size_t n;
    const uint8_t *p = data;

    out->written += size;
    for (; size > 0; p += n, size -= n) {
        symc_output_drain(out);
        if (out->used == 0 && size >= SYMC_OUTPUT_BLOCK) {
            n = size - size % SYMC_OUTPUT_BLOCK; /* without a copy */
            write_out(out, p, n);
            continue;
        }
        n = SYMC_OUTPUT_BLOCK - out->used;
        n = n < size ? n : size;
        memcpy((uint8_t *)out->data + out->used, p, n);
        out->used += n;
    }
}

void symc_output_words(struct symc_output *out, const uint32_t *words,
                       size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    symc_output_bytes(out, words, 4 * n);
#else
    size_t i;

    for (i = 0; i < n; i++) {
        symc_output_number(out, words[i]);
    }
#endif
}

/* Copies a short text.  The number of its bytes varies, which costs a call of
 * memcpy(), or the instruction of the processor for it, more than copying. */
static inline void copy_short(uint8_t *to, const uint8_t *from, size_t size)
{
    size_t i;

    if (size < 8) {
        for (i = 0; i < size; i++) {
            to[i] = from[i];
        }
        return;
    }
    for (i = 0; i + 8 < size; i += 8) {
        memcpy(to + i, from + i, 8);
    }
    memcpy(to + size - 8, from + size - 8, 8);
}

void symc_output_strings(struct symc_output *out,
                         const struct symc_strings *strings)
{
    size_t i, size;
    uint8_t *p, length[10];
    const uint8_t *text;

    if (!strings->refers) {
        symc_output_bytes(out, strings->data, strings->size);
        return;
    }
    for (i = 0; i < strings->count; i++) {
        text = symc_strings_text(strings, i, &size);
        if (size < 0x80) { /* as most are: a byte has the length */
            p = symc_output_room(out, 1 + size);
            *p = (uint8_t)size;
            copy_short(p + 1, text, size);
            continue;
        }
        symc_output_bytes(out, length, symc_strings_length(length, size));
        symc_output_bytes(out, text, size);
    }
}
