/*
 * Copyright (C) the ngx_symcache authors
 *
 * Output of a writer, collected until there is a block of it.  SymCaches are
 * written so, and the other files that are made of originals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "string_table.h"

/* File systems keep a write of this size in one piece if it begins at a
 * multiple of it, which takes them two thirds of the time. */
#define SYMC_OUTPUT_BLOCK 65536

/* Bytes of what begins in a block and ends in the next one. */
#define SYMC_OUTPUT_EXCESS 256

/* Receives the output in order.  write() returns 0, or -1 to stop. */
struct symc_sink {
    int (*write)(void *context, const void *data, size_t size);
    void *context;
};

struct symc_output {
    const struct symc_sink *sink;
    uint64_t written; /* bytes, those of the block included */
    size_t used;      /* of the block, and of what is more */
    bool has_failed;  /* nothing more is written then */
    uint32_t data[(SYMC_OUTPUT_BLOCK + SYMC_OUTPUT_EXCESS) / sizeof(uint32_t)];
};

static inline void symc_output_init(struct symc_output *out,
                                    const struct symc_sink *sink)
{
    out->sink = sink;
    out->written = out->used = 0;
    out->has_failed = false;
}

/* Writes a full block, and makes what is more the next one. */
void symc_output_write_block(struct symc_output *out);

/* Writes what is left, at the end. */
void symc_output_flush(struct symc_output *out);

/* Makes room: less than a block is used then. */
static inline void symc_output_drain(struct symc_output *out)
{
    if (out->used >= SYMC_OUTPUT_BLOCK) {
        symc_output_write_block(out);
    }
}

/* The next bytes of the output, at most SYMC_OUTPUT_EXCESS, which the caller
 * sets. */
static inline uint8_t *symc_output_room(struct symc_output *out, size_t size)
{
    uint8_t *p;

    symc_output_drain(out);
    p = (uint8_t *)out->data + out->used;
    out->used += size;
    out->written += size;
    return p;
}

static inline void symc_output_number(struct symc_output *out, uint32_t number)
{
    le32_store(symc_output_room(out, 4), number);
}

/* Writes zeros up to a multiple of a power of two. */
void symc_output_align(struct symc_output *out, unsigned to);

void symc_output_bytes(struct symc_output *out, const void *data, size_t size);

/* Numbers, in the order of bytes that files have. */
void symc_output_words(struct symc_output *out, const uint32_t *words,
                       size_t n);

/* The section of strings. */
void symc_output_strings(struct symc_output *out,
                         const struct symc_string_table *strings);
