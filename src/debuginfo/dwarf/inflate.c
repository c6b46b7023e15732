/*
 * Copyright (C) the ngx_symcache authors
 */
#include "inflate.h"

#include <isa-l/igzip_lib.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/byte_order.h"
#include "debuginfo/scratch.h"
#include "debuginfo/second_thread.h"
#include "section.h"

#define GNU_MAGIC "ZLIB"
#define GNU_HEADER 12 /* magic, size in 8 big-endian bytes */
#define ELFCOMPRESS_ZLIB 1
#define ELFCOMPRESS_ZSTD 2

/* Bytes of output that one of input may become: in zlib a match of 258 bytes
 * for 2 bits, in zstd a block of 128 KiB for 3 bytes. */
#define ZLIB_MOST 1032
#define ZSTD_MOST 43691

/* The fields of a section's header. */
struct inflate_input {
    uint32_t type;
    uint64_t size; /* decompressed */
    const uint8_t *data;
    size_t data_size;
};

/* Returns false if there is none of a known type, or if it states more than the
 * data can become. */
static bool inflate_read_header(const struct dwarf_section *s, bool is_64,
                                bool is_big, struct inflate_input *input)
{
    size_t header = is_64 ? 24 : 12;
    uint64_t most;
    const uint8_t *p = s->data;

    if (s->size >= GNU_HEADER && memcmp(p, GNU_MAGIC, 4) == 0) {
        header = GNU_HEADER;
        input->type = ELFCOMPRESS_ZLIB;
        input->size = byte_order_64(p + 4, true);
    } else if (s->size >= header) {
        input->type = byte_order_32(p, is_big);
        input->size = is_64 ? byte_order_64(p + 8, is_big)
                            : byte_order_32(p + 4, is_big);
    } else {
        return false;
    }
    input->data = p + header;
    input->data_size = s->size - header;
    most = input->type == ELFCOMPRESS_ZSTD ? ZSTD_MOST : ZLIB_MOST;
    return (input->type == ELFCOMPRESS_ZLIB ||
            input->type == ELFCOMPRESS_ZSTD) &&
           input->size <= most * input->data_size;
}

/* the usual section, whose size is right.  ISA-L takes a third of the time that
 * zlib does ------------------------------------------------------------------
 */

#define STEP (64u << 10) /* bytes of output: a tenth of a millisecond */

struct dwarf_inflation {
    struct inflate_state state;
    const uint8_t *end; /* of the compressed data */
    uint8_t *out;
    size_t room, size; /* of out, and of what is there */
    uint8_t *buffer;   /* STEP bytes: the output of a step */
    /* while another thread reads what is there */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic size_t ready; /* bytes; all when they are known to be right */
    _Atomic size_t wanted; /* bytes: how far that thread is */
    bool has_failed;
};

/* Returns NULL without memory. */
static struct dwarf_inflation *begin_inflate(const struct inflate_input *input,
                                             uint8_t *out, size_t room)
{
    struct dwarf_inflation *inflation = malloc(sizeof(*inflation) + STEP);

    if (inflation == NULL) {
        return NULL;
    }
    isal_inflate_init(&inflation->state);
    inflation->state.crc_flag = ISAL_ZLIB;
    inflation->state.next_in = (uint8_t *)(uintptr_t)input->data;
    inflation->state.avail_in = 0;
    inflation->end = input->data + input->data_size;
    inflation->out = out;
    inflation->room = room;
    inflation->size = 0;
    inflation->buffer = (uint8_t *)(inflation + 1);
    return inflation;
}

/* ISA-L takes windows that are larger than zlib's format allows. */
static bool inflate_has_window(const struct inflate_input *input)
{
    return input->data_size > 0 && input->data[0] >> 4 <= 7;
}

/* Decompresses some more.  Returns 1, 0 at the end, or -1 if the data is
 * damaged, or of another size. */
static int inflate_step(struct dwarf_inflation *inflation)
{
    struct inflate_state *s = &inflation->state;
    size_t in = (size_t)(inflation->end - s->next_in);
    size_t left = inflation->room - inflation->size, n;
    const uint8_t *at = s->next_in;
    enum isal_block_state state = s->block_state;

    s->avail_in = in < UINT32_MAX ? (uint32_t)in : UINT32_MAX;
    s->avail_out = left < STEP ? (uint32_t)left : STEP;
    s->next_out = inflation->buffer;
    if (isal_inflate(s) != ISAL_DECOMP_OK) {
        return -1;
    }
    n = (size_t)(s->next_out - inflation->buffer);
    scratch_copy(inflation->out + inflation->size, inflation->buffer, n);
    inflation->size += n;
    if (s->block_state == ISAL_BLOCK_FINISH) {
        return inflation->size == inflation->room ? 0 : -1;
    }
    return s->next_in > at || n > 0 || s->block_state != state ? 1 : -1;
}

/* Returns false for any other section. */
static bool inflate_whole(const struct inflate_input *input, uint8_t *out,
                          uint64_t room)
{
    int rc;
    struct dwarf_inflation *inflation;

    inflation = inflate_has_window(input)
                    ? begin_inflate(input, out, (size_t)room)
                    : NULL;
    if (inflation == NULL) {
        return false;
    }
    while ((rc = inflate_step(inflation)) > 0) {
    }
    free(inflation);
    return rc == 0;
}

/* all others -------------------------------------------------------------- */

/* zlib counts in 32 bits, so it gets large buffers in parts. */
static uInt inflate_part_size(uint64_t left)
{
    return left > UINT_MAX ? UINT_MAX : (uInt)left;
}

/* Decompresses until the room or the data ends.  Returns false if the data is
 * damaged. */
static bool inflate_zlib(const struct inflate_input *input, uint8_t *out,
                         uint64_t room, uint64_t *size)
{
    int rc;
    z_stream z;
    uint64_t in_left = input->data_size, out_left = room;

    memset(&z, 0, sizeof(z));
    if (inflateInit(&z) != Z_OK) {
        return false;
    }
    z.next_in = (Bytef *)(uintptr_t)input->data;
    z.next_out = out;
    do {
        if (z.avail_in == 0) {
            z.avail_in = inflate_part_size(in_left);
            in_left -= z.avail_in;
        }
        if (z.avail_out == 0) {
            z.avail_out = inflate_part_size(out_left);
            out_left -= z.avail_out;
        }
        rc = inflate(&z, in_left + out_left > 0 ? Z_NO_FLUSH : Z_FINISH);
    } while (rc == Z_OK && (z.avail_in + in_left > 0 || z.avail_out > 0) &&
             z.avail_out + out_left > 0);
    *size = (uint64_t)(z.next_out - out);
    inflateEnd(&z);
    return rc == Z_STREAM_END || rc == Z_BUF_ERROR || rc == Z_OK;
}

static bool inflate_zstd(const struct inflate_input *input, uint8_t *out,
                         uint64_t room, uint64_t *size)
{
    size_t n = ZSTD_decompress(out, room, input->data, input->data_size);

    *size = n;
    return !ZSTD_isError(n);
}

int dwarf_inflate(struct dwarf_section *section, bool is_64, bool is_big)
{
    bool ok;
    uint64_t size = 0;
    uint8_t *out;
    struct inflate_input input;

    if (!inflate_read_header(section, is_64, is_big, &input)) {
        *section = (struct dwarf_section){NULL, 0};
        return 0;
    }
    out = scratch_allocate((size_t)input.size);
    if (out == NULL) {
        return -1;
    }
    if (input.type == ELFCOMPRESS_ZSTD) {
        ok = inflate_zstd(&input, out, input.size, &size);
    } else if (inflate_whole(&input, out, input.size)) {
        ok = true;
        size = input.size;
    } else {
        ok = inflate_zlib(&input, out, input.size, &size);
    }
    if (!ok) {
        scratch_free(out);
        out = NULL;
        size = 0;
    }
    section->data = out;
    section->size = (size_t)size;
    return 0;
}

/* in the background ------------------------------------------------------- */

#define LEAST (256u << 10) /* compressed: a millisecond */

/* Tells how much is there.  The last byte waits for the end of the stream. */
static void inflate_publish_ready(struct dwarf_inflation *inflation, int rc)
{
    size_t done = inflation->size;

    pthread_mutex_lock(&inflation->lock);
    if (rc < 0) {
        inflation->has_failed = true;
    } else {
        atomic_store_explicit(&inflation->ready,
                              rc > 0 && done > 0 ? done - 1 : done,
                              memory_order_release);
    }
    pthread_cond_signal(&inflation->changed);
    pthread_mutex_unlock(&inflation->lock);
}

/* Is there time for something else?  So it is if the thread that reads is at
 * least half as far behind as the end is ahead: it does not read faster than
 * this one decompresses. */
static bool inflate_is_far_ahead(struct dwarf_inflation *inflation)
{
    size_t wanted =
        atomic_load_explicit(&inflation->wanted, memory_order_relaxed);

    return inflation->size > wanted &&
           inflation->size - wanted >= (inflation->room - inflation->size) / 2;
}

static void run_inflate(void *arg)
{
    int rc;
    struct dwarf_inflation *inflation = arg;

    do {
        rc = inflate_step(inflation);
        inflate_publish_ready(inflation, rc);
        second_thread_share(inflate_is_far_ahead(inflation));
    } while (rc > 0);
}

struct dwarf_inflation *dwarf_inflation_begin(struct dwarf_section *section,
                                              bool is_64, bool is_big)
{
    uint8_t *out;
    struct inflate_input input;
    struct dwarf_inflation *inflation;

    /* the end of an empty one would never be waited for */
    if (section->size < LEAST ||
        !inflate_read_header(section, is_64, is_big, &input) ||
        input.type != ELFCOMPRESS_ZLIB || input.size == 0 ||
        !inflate_has_window(&input)) {
        return NULL;
    }
    out = scratch_allocate((size_t)input.size);
    inflation =
        out != NULL ? begin_inflate(&input, out, (size_t)input.size) : NULL;
    if (inflation == NULL) {
        scratch_free(out);
        return NULL;
    }
    pthread_mutex_init(&inflation->lock, NULL);
    pthread_cond_init(&inflation->changed, NULL);
    atomic_init(&inflation->ready, 0);
    atomic_init(&inflation->wanted, 0);
    inflation->has_failed = false;
    if (!second_thread_run_long(run_inflate, inflation)) {
        scratch_free(out);
        free(inflation);
        return NULL;
    }
    section->data = out;
    section->size = inflation->room;
    return inflation;
}

bool dwarf_inflation_wait(struct dwarf_inflation *inflation, size_t size)
{
    bool is_there;

    atomic_store_explicit(&inflation->wanted, size, memory_order_relaxed);
    if (atomic_load_explicit(&inflation->ready, memory_order_acquire) >=
        size) {
        return true;
    }
    pthread_mutex_lock(&inflation->lock);
    while (atomic_load(&inflation->ready) < size && !inflation->has_failed) {
        pthread_cond_wait(&inflation->changed, &inflation->lock);
    }
    is_there = !inflation->has_failed;
    pthread_mutex_unlock(&inflation->lock);
    return is_there;
}

bool dwarf_inflation_end(struct dwarf_inflation *inflation)
{
    bool is_right;

    second_thread_wait_long();
    is_right = !inflation->has_failed;
    pthread_cond_destroy(&inflation->changed);
    pthread_mutex_destroy(&inflation->lock);
    free(inflation);
    return is_right;
}
