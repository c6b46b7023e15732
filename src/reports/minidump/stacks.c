/*
 * Copyright (C) the ngx_symcache authors
 *
 * Stacks that the process has walked itself, which SDKs of Sentry add to
 * minidumps:
 *
 *   u32 version (1), threads, frames, bytes of text
 *   threads   u32 id, first frame, frames; the list is padded to 8 bytes
 *   frames    u64 address, u32 offset and size of a name in the text
 *   text
 *
 * The stream has exactly this size and every index is in range; otherwise none
 * of it counts.
 */
#include "bytes.h"

#define HEADER 16
#define THREAD 12
#define FRAME 16

struct stacks {
    uint32_t num_threads;
    uint32_t num_frames;
    uint32_t text_size;
    const uint8_t *threads;
    const uint8_t *frames;
    const uint8_t *text;
};

static bool read_header(const struct minidump *dump, struct stacks *stacks)
{
    struct minidump_bytes stream = bytes_stream(dump, STREAM_STACKS);
    const uint8_t *p = stream.data;
    uint64_t threads, frames;

    if (stream.size < HEADER || get32(dump, p) != 1) {
        return false;
    }
    stacks->num_threads = get32(dump, p + 4);
    stacks->num_frames = get32(dump, p + 8);
    stacks->text_size = get32(dump, p + 12);
    threads = ((uint64_t)stacks->num_threads * THREAD + 7) & ~(uint64_t)7;
    frames = (uint64_t)stacks->num_frames * FRAME;
    if (stacks->num_threads > MINIDUMP_THREADS ||
        stream.size != HEADER + threads + frames + stacks->text_size) {
        return false;
    }
    stacks->threads = p + HEADER;
    stacks->frames = stacks->threads + threads;
    stacks->text = stacks->frames + frames;
    return true;
}

static bool is_inside(uint32_t first, uint32_t count, uint32_t all)
{
    return first <= all && count <= all - first;
}

static bool are_indexes_good(const struct minidump *dump,
                             const struct stacks *stacks)
{
    const uint8_t *p;
    uint32_t i;

    for (i = 0; i < stacks->num_threads; i++) {
        p = stacks->threads + (size_t)i * THREAD;
        if (!is_inside(get32(dump, p + 4), get32(dump, p + 8),
                       stacks->num_frames)) {
            return false;
        }
    }
    for (i = 0; i < stacks->num_frames; i++) {
        p = stacks->frames + (size_t)i * FRAME;
        if (!is_inside(get32(dump, p + 8), get32(dump, p + 12),
                       stacks->text_size)) {
            return false;
        }
    }
    return true;
}

void stacks_read(struct minidump *dump)
{
    struct stacks stacks;
    const uint8_t *p;
    uint32_t i;
    size_t k;

    if (!read_header(dump, &stacks) || !are_indexes_good(dump, &stacks)) {
        return;
    }
    dump->own_text = stacks.text;
    for (i = 0; i < stacks.num_threads; i++) {
        p = stacks.threads + (size_t)i * THREAD;
        for (k = 0; get32(dump, p + 8) > 0 && k < dump->num_threads; k++) {
            if (dump->threads[k].id == get32(dump, p)) {
                dump->threads[k].own_frames =
                    stacks.frames + (size_t)get32(dump, p + 4) * FRAME;
                dump->threads[k].num_own_frames = get32(dump, p + 8);
            }
        }
    }
}

struct minidump_own_frame
minidump_own_frame(const struct minidump *dump,
                   const struct minidump_thread *thread, uint32_t frame)
{
    const uint8_t *p = thread->own_frames + (size_t)frame * FRAME;
    struct minidump_own_frame own = {
        .address = get64(dump, p),
        .function = {dump->own_text + get32(dump, p + 8),
                     get32(dump, p + 12)}};

    return own;
}
