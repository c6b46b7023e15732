/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checked access to the bytes of a dump.
 */
#pragma once

#include "base/byte_order.h"
#include "minidump.h"

/* Types of streams. */
enum {
    STREAM_THREADS = 3,
    STREAM_MODULES = 4,
    STREAM_MEMORY = 5,
    STREAM_EXCEPTION = 6,
    STREAM_SYSTEM = 7,
    STREAM_MEMORY64 = 9,
    STREAM_UNLOADED = 14,
    STREAM_MISC = 15,
    STREAM_THREAD_NAMES = 24,
    STREAM_BREAKPAD = 0x47670001,
    STREAM_LINUX_STATUS = 0x47670004,
    STREAM_STACKS = 0x53790001 /* of Sentry's SDKs */
};

static inline uint16_t get16(const struct minidump *dump, const uint8_t *p)
{
    return byte_order_16(p, dump->is_big_endian);
}

static inline uint32_t get32(const struct minidump *dump, const uint8_t *p)
{
    return byte_order_32(p, dump->is_big_endian);
}

static inline uint64_t get64(const struct minidump *dump, const uint8_t *p)
{
    return byte_order_64(p, dump->is_big_endian);
}

/* The bytes at an offset; none if they are not all in the dump. */
struct minidump_bytes bytes_at(const struct minidump *dump, uint64_t offset,
                               uint64_t size);

/* The bytes that a location says: size and offset in 32 bits each.  Where they
 * are not all there, the dump was cut off. */
struct minidump_bytes bytes_located(struct minidump *dump,
                                    const uint8_t *location);

/* The last stream of a type; none if there is none, or it is not in the
 * dump. */
struct minidump_bytes bytes_stream(const struct minidump *dump, uint32_t type);

/* How much is read of something, and the word of crash_limits for it. */
struct bytes_limit {
    size_t count;
    const char *word;
};

/* Entries of a list of a count and entries of one size, as many as limit
 * allows.  Returns false if the stream is not a whole list. */
bool bytes_list(struct minidump *dump, struct minidump_bytes stream,
                size_t entry, const struct bytes_limit *limit,
                const uint8_t **entries, size_t *count);

/* Entries of a list that begins with the sizes of its header and entries.
 * Entries must have this size. */
bool bytes_sized_list(struct minidump *dump, struct minidump_bytes stream,
                      size_t entry, const struct bytes_limit *limit,
                      const uint8_t **entries, size_t *count);

/* The UTF-16 string at an offset; NULL if it cannot be read, or for lack of
 * memory. */
char *bytes_string(struct minidump *dump, uint64_t offset);

/* A copy of a text up to its first NUL, in which U+FFFD stands for bytes that
 * are not UTF-8. */
char *bytes_text(struct minidump *dump, const uint8_t *p, size_t size);

/* What makes up a dump, each read from its own stream.  Returns false when out
 * of memory. */
bool modules_read(struct minidump *dump);
bool unloaded_read(struct minidump *dump);
bool memory_read(struct minidump *dump);

/* Gives threads the frames that the process has found itself. */
void stacks_read(struct minidump *dump);

/* Finds the range of memory at an address, or NULL. */
const struct stackwalk_memory *memory_at(const struct minidump *dump,
                                         uint64_t address);

/* Words of SystemInfo.  Returns false if it is absent or cannot be read. */
bool system_read(struct minidump *dump);

/* Writes the reason of the dump's exception, and its address. */
void reason_write(struct minidump *dump);
