/*
 * Copyright (C) the ngx_symcache authors
 */
#include "inflate.h"

#include <libdeflate.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/byte_order.h"
#include "debuginfo/scratch.h"

#define GNU_MAGIC "ZLIB"
#define GNU_HEADER 12 /* magic, size in 8 big-endian bytes */
#define ELFCOMPRESS_ZLIB 1
#define ELFCOMPRESS_ZSTD 2

/* Bytes of output that one of input may become: in zlib a match of 258 bytes
 * for 2 bits, in zstd a block of 128 KiB for 3 bytes. */
#define ZLIB_MOST 1032
#define ZSTD_MOST 43691

/* What the header of a section says. */
struct compressed {
    uint32_t type;
    uint64_t size; /* decompressed */
    const uint8_t *data;
    size_t data_size;
};

static bool read_header(const struct elf_file *f, const struct elf_bytes *s,
                        struct compressed *c)
{
    size_t header = f->is_64 ? 24 : 12;
    const uint8_t *p = s->data;

    if (s->size >= 4 && memcmp(p, GNU_MAGIC, 4) == 0) {
        header = GNU_HEADER;
        c->type = ELFCOMPRESS_ZLIB;
        c->size = s->size < header ? 0 : byte_order_64(p + 4, true);
    } else if (s->size >= header) {
        c->type = byte_order_32(p, f->is_big);
        c->size = f->is_64 ? byte_order_64(p + 8, f->is_big)
                           : byte_order_32(p + 4, f->is_big);
    }
    if (s->size < header) {
        return false;
    }
    c->data = p + header;
    c->data_size = s->size - header;
    return true;
}

/* Decompresses the usual section, whose size is right.  libdeflate takes a
 * third of the time that zlib does, but knows only whole streams.  Returns
 * false for all others. */
static bool inflate_whole(const struct compressed *c, uint8_t *out,
                          uint64_t room)
{
    bool ok;
    size_t size = 0;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();

    if (d == NULL) {
        return false;
    }
    ok = libdeflate_zlib_decompress(d, c->data, c->data_size, out,
                                    (size_t)room, &size) ==
             LIBDEFLATE_SUCCESS &&
         size == room;
    libdeflate_free_decompressor(d);
    return ok;
}

/* zlib counts in 32 bits, so it gets large buffers in parts. */
static uInt part(uint64_t left)
{
    return left > UINT_MAX ? UINT_MAX : (uInt)left;
}

/* Decompresses until the room or the data ends.  Returns false if the data is
 * damaged. */
static bool inflate_zlib(const struct compressed *c, uint8_t *out,
                         uint64_t room, uint64_t *size)
{
    int rc;
    z_stream z;
    uint64_t in_left = c->data_size, out_left = room;

    memset(&z, 0, sizeof(z));
    if (inflateInit(&z) != Z_OK) {
        return false;
    }
    z.next_in = (Bytef *)(uintptr_t)c->data;
    z.next_out = out;
    do {
        if (z.avail_in == 0) {
            z.avail_in = part(in_left);
            in_left -= z.avail_in;
        }
        if (z.avail_out == 0) {
            z.avail_out = part(out_left);
            out_left -= z.avail_out;
        }
        rc = inflate(&z, in_left + out_left > 0 ? Z_NO_FLUSH : Z_FINISH);
    } while (rc == Z_OK && (z.avail_in + in_left > 0 || z.avail_out > 0) &&
             z.avail_out + out_left > 0);
    *size = (uint64_t)(z.next_out - out);
    inflateEnd(&z);
    return rc == Z_STREAM_END || rc == Z_BUF_ERROR || rc == Z_OK;
}

static bool inflate_zstd(const struct compressed *c, uint8_t *out,
                         uint64_t room, uint64_t *size)
{
    size_t n = ZSTD_decompress(out, room, c->data, c->data_size);

    *size = n;
    return !ZSTD_isError(n);
}

/* Returns the most that a section can need.  Its header may say anything. */
static uint64_t room_for(const struct compressed *c)
{
    uint64_t most = (c->type == ELFCOMPRESS_ZSTD ? ZSTD_MOST : ZLIB_MOST) *
                    (uint64_t)c->data_size;

    return c->size < most ? c->size : most;
}

int elf_inflate(const struct elf_file *f, const struct elf_bytes *section,
                struct elf_bytes *inflated)
{
    bool ok;
    uint64_t room, size = 0;
    uint8_t *out;
    struct compressed c;

    if (!read_header(f, section, &c) ||
        (c.type != ELFCOMPRESS_ZLIB && c.type != ELFCOMPRESS_ZSTD)) {
        return 0;
    }
    room = room_for(&c);
    out = scratch_allocate((size_t)room);
    if (out == NULL) {
        return -1;
    }
    if (c.type == ELFCOMPRESS_ZSTD) {
        ok = inflate_zstd(&c, out, room, &size);
    } else if (inflate_whole(&c, out, room)) {
        ok = true;
        size = room;
    } else {
        ok = inflate_zlib(&c, out, room, &size);
    }
    if (!ok) {
        scratch_free(out);
        return 0;
    }
    inflated->data = out;
    inflated->size = (size_t)size;
    return 1;
}
