/*
 * Copyright (C) the ngx_symcache authors
 */
#include "output.h"

#include <string.h>

static void output_write(struct symc_output *output, const void *data,
                         size_t size)
{
    if (size > 0 && !output->has_failed) {
        output->has_failed =
            output->sink->write(output->sink->context, data, size) != 0;
    }
}

void symc_output_write_block(struct symc_output *output)
{
    output_write(output, output->data, SYMC_OUTPUT_BLOCK);
    output->used -= SYMC_OUTPUT_BLOCK;
    memcpy(output->data, (uint8_t *)output->data + SYMC_OUTPUT_BLOCK,
           output->used);
}

void symc_output_flush(struct symc_output *output)
{
    output_write(output, output->data, output->used);
    output->used = 0;
}

void symc_output_align(struct symc_output *output, unsigned to)
{
    size_t n = (size_t)(-output->written & (to - 1));

    memset(symc_output_room(output, n), 0, n);
}

void symc_output_bytes(struct symc_output *output, const void *data,
                       size_t size)
{
    size_t n;
    const uint8_t *p = data;

    output->written += size;
    for (; size > 0; p += n, size -= n) {
        symc_output_drain(output);
        if (output->used == 0 && size >= SYMC_OUTPUT_BLOCK) {
            n = size - size % SYMC_OUTPUT_BLOCK; /* without a copy */
            output_write(output, p, n);
            continue;
        }
        n = SYMC_OUTPUT_BLOCK - output->used;
        n = n < size ? n : size;
        memcpy((uint8_t *)output->data + output->used, p, n);
        output->used += n;
    }
}

void symc_output_words(struct symc_output *output, const uint32_t *words,
                       size_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    symc_output_bytes(output, words, 4 * n);
#else
    size_t i;

    for (i = 0; i < n; i++) {
        symc_output_number(output, words[i]);
    }
#endif
}

/* Copies a short text.  The number of its bytes varies, which costs a call of
 * memcpy(), or the instruction of the processor for it, more than copying. */
static inline void output_short_text(uint8_t *to, const uint8_t *from,
                                     size_t size)
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

void symc_output_strings(struct symc_output *output,
                         const struct symc_string_table *strings)
{
    size_t i, size;
    uint8_t *p, length[10];
    const uint8_t *text;

    if (!strings->refers) {
        symc_output_bytes(output, strings->data, strings->size);
        return;
    }
    for (i = 0; i < strings->count; i++) {
        text = symc_string_table_text(strings, i, &size);
        if (size < 0x80) { /* as most are: a byte has the length */
            p = symc_output_room(output, 1 + size);
            *p = (uint8_t)size;
            output_short_text(p + 1, text, size);
            continue;
        }
        symc_output_bytes(output, length,
                          symc_string_table_length(length, size));
        symc_output_bytes(output, text, size);
    }
}
