/*
 * Copyright (C) the ngx_symcache authors
 */
#include "decompress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "cabinet.h"
#include "debuginfo/msfz/msfz.h"

#define BODY_CHUNK 65536
#define COPY_CHUNK (1024 * 1024)

static enum body_status decompress_fail(enum body_status status, char *error,
                                        size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static enum body_status decompress_fail(enum body_status status, char *error,
                                        size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, size, format, args);
    va_end(args);
    return status;
}

static enum body_status decompress_read_failed(char *error, size_t size)
{
    return decompress_fail(BODY_SYSTEM, error, size, "read: %s",
                           strerror(errno));
}

static enum body_status
decompress_write_failed(const struct limited_writer *writer, char *error,
                        size_t size)
{
    limited_writer_reason(writer, error, size);
    return writer->error == EFBIG ? BODY_BAD : BODY_SYSTEM;
}

static ssize_t decompress_read(int fd, void *buf)
{
    ssize_t n;

    do {
        n = read(fd, buf, BODY_CHUNK);
    } while (n < 0 && errno == EINTR);

    return n;
}

/* Has the kernel copy the data, and leaves the offset after it. */
static void decompress_copy_by_kernel(int in, off_t end,
                                      struct limited_writer *writer)
{
    off_t at = 0;
    size_t n = 1;

    while (at < end && n > 0) {
        n = end - at < COPY_CHUNK ? (size_t)(end - at) : COPY_CHUNK;
        n = limited_writer_copy(writer, in, n);
        at += (off_t)n;
    }
}

enum body_status body_copy(int in, struct limited_writer *writer, char *error,
                           size_t size)
{
    off_t end = lseek(in, 0, SEEK_END);
    enum body_status status = BODY_OK;
    uint8_t *buf;
    ssize_t n;

    if (end > 0 && (uint64_t)end > writer->max) {
        writer->error = EFBIG; /* before there must be room for it */
        return decompress_write_failed(writer, error, size);
    }
    if (end < 0 || lseek(in, 0, SEEK_SET) != 0) {
        return decompress_read_failed(error, size); /* not an empty file */
    }
    buf = malloc(BODY_CHUNK);
    if (buf == NULL) {
        return decompress_fail(BODY_SYSTEM, error, size, "out of memory");
    }

    decompress_copy_by_kernel(in, end, writer);
    while ((n = decompress_read(in, buf)) > 0) {
        if (limited_writer_write(writer, buf, (size_t)n) != 0) {
            status = decompress_write_failed(writer, error, size);
            break;
        }
    }

    free(buf);
    return n < 0 ? decompress_read_failed(error, size) : status;
}

/* Calls inflate() once, and writes what it returns to the writer. */
static int decompress_inflate_step(z_stream *z, struct limited_writer *writer,
                                   uint8_t *out)
{
    int rc;

    z->next_out = out;
    z->avail_out = BODY_CHUNK;
    rc = inflate(z, Z_NO_FLUSH);

    if (limited_writer_write(writer, out, BODY_CHUNK - z->avail_out) != 0) {
        return Z_ERRNO;
    }
    return rc;
}

/*
 * Data in the gzip format may have several members; data in the zlib format
 * ends with its stream.  Returns Z_STREAM_END when the input ended as it
 * should, and Z_BUF_ERROR when it ended too early.
 */
static int decompress_inflate_loop(z_stream *z, int in,
                                   struct limited_writer *writer, bool members,
                                   uint8_t *inbuf, uint8_t *outbuf)
{
    int rc = Z_OK;
    ssize_t n;

    for (;;) {
        if (z->avail_in == 0) {
            n = decompress_read(in, inbuf);
            if (n < 0) {
                return Z_STREAM_ERROR;
            }
            if (n == 0) {
                return rc == Z_STREAM_END ? rc : Z_BUF_ERROR;
            }
            z->next_in = inbuf;
            z->avail_in = (unsigned)n;
        }

        if (rc == Z_STREAM_END && (!members || inflateReset(z) != Z_OK)) {
            return Z_DATA_ERROR;
        }

        do {
            rc = decompress_inflate_step(z, writer, outbuf);
        } while (rc == Z_OK && z->avail_out == 0);

        if (rc != Z_OK && rc != Z_BUF_ERROR && rc != Z_STREAM_END) {
            return rc;
        }
    }
}

static enum body_status decompress_inflate(bool members, int in,
                                           struct limited_writer *writer,
                                           char *error, size_t size)
{
    z_stream z = {0};
    uint8_t *buf = malloc(2 * BODY_CHUNK);
    int rc = Z_MEM_ERROR;

    if (buf != NULL &&
        (rc = inflateInit2(&z, members ? 15 + 16 : 15)) == Z_OK) {
        rc = decompress_inflate_loop(&z, in, writer, members, buf,
                                     buf + BODY_CHUNK);
        inflateEnd(&z);
    }
    free(buf);

    switch (rc) {
    case Z_STREAM_END:
        return BODY_OK;
    case Z_ERRNO:
        return decompress_write_failed(writer, error, size);
    case Z_STREAM_ERROR:
        return decompress_read_failed(error, size);
    case Z_MEM_ERROR:
        return decompress_fail(BODY_SYSTEM, error, size, "out of memory");
    case Z_BUF_ERROR:
        return decompress_fail(BODY_BAD, error, size, "truncated %s",
                               members ? "gzip data" : "zlib data");
    default:
        return decompress_fail(BODY_BAD, error, size, "damaged %s",
                               members ? "gzip data" : "zlib data");
    }
}

static enum body_status decompress_zstd_loop(ZSTD_DStream *stream, int in,
                                             struct limited_writer *writer,
                                             uint8_t *inbuf, uint8_t *outbuf,
                                             char *error, size_t size)
{
    ZSTD_inBuffer input;
    ZSTD_outBuffer output;
    size_t left = 0;
    ssize_t n;

    while ((n = decompress_read(in, inbuf)) > 0) {
        input = (ZSTD_inBuffer){inbuf, (size_t)n, 0};

        do {
            output = (ZSTD_outBuffer){outbuf, BODY_CHUNK, 0};
            left = ZSTD_decompressStream(stream, &output, &input);
            if (ZSTD_isError(left)) {
                return decompress_fail(BODY_BAD, error, size,
                                       "damaged zstd data: %s",
                                       ZSTD_getErrorName(left));
            }
            if (limited_writer_write(writer, outbuf, output.pos) != 0) {
                return decompress_write_failed(writer, error, size);
            }
        } while (input.pos < input.size || output.pos == output.size);
    }

    if (n < 0) {
        return decompress_read_failed(error, size);
    }
    if (left != 0) {
        return decompress_fail(BODY_BAD, error, size, "truncated zstd data");
    }
    return BODY_OK;
}

static enum body_status decompress_zstd(int in, struct limited_writer *writer,
                                        char *error, size_t size)
{
    ZSTD_DStream *stream = ZSTD_createDStream();
    uint8_t *buf = malloc(2 * BODY_CHUNK);
    enum body_status status;

    if (stream == NULL || buf == NULL) {
        status = decompress_fail(BODY_SYSTEM, error, size, "out of memory");
    } else {
        status = decompress_zstd_loop(stream, in, writer, buf,
                                      buf + BODY_CHUNK, error, size);
    }

    free(buf);
    ZSTD_freeDStream(stream);
    return status;
}

/* a compressed PDB ------------------------------------------------------- */

struct msfz_expansion {
    int in;
    struct limited_writer *writer;
};

static int decompress_read_container(void *context, uint64_t offset, void *to,
                                     size_t len)
{
    const struct msfz_expansion *expansion = context;
    uint8_t *p = to;
    ssize_t n;

    while (len > 0) {
        n = pread(expansion->in, p, len, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n < 0 ? errno : EIO; /* it became shorter */
            return -1;
        }
        p += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

static int decompress_write_pdb(void *context, uint64_t offset,
                                const void *data, size_t len)
{
    struct limited_writer *writer = ((struct msfz_expansion *)context)->writer;

    if (lseek(writer->fd, (off_t)offset, SEEK_SET) < 0) {
        writer->error = errno;
        return -1;
    }
    return limited_writer_write(writer, data, len);
}

static enum body_status decompress_msfz(int in, struct limited_writer *writer,
                                        char *error, size_t size)
{
    struct msfz_expansion expansion = {in, writer};
    off_t end = lseek(in, 0, SEEK_END);
    const struct msfz_io io = {&expansion, (uint64_t)end, writer->max,
                               decompress_read_container,
                               decompress_write_pdb};
    uint64_t made;

    if (end < 0) {
        return decompress_read_failed(error, size);
    }
    switch (msfz_expand(&io, &made, error, size)) {
    case MSFZ_OK:
        return BODY_OK;
    case MSFZ_UNKNOWN:
        return BODY_UNREADABLE;
    case MSFZ_LIMIT:
        writer->error = EFBIG;
        return BODY_BAD;
    case MSFZ_FAILED:
        return writer->error != 0
                   ? decompress_write_failed(writer, error, size)
                   : BODY_SYSTEM;
    default:
        return BODY_BAD;
    }
}

enum body_status decompress(enum body_kind kind, int in,
                            const struct cabinet_parts *parts,
                            struct limited_writer *writer, char *error,
                            size_t size)
{
    /* After the body was received, the offset is at its end. */
    if (lseek(in, 0, SEEK_SET) != 0) {
        return decompress_read_failed(error, size);
    }

    switch (kind) {
    case BODY_CABINET:
        return cabinet_unpack(in, parts, writer, error, size);
    case BODY_GZIP:
        return decompress_inflate(true, in, writer, error, size);
    case BODY_ZLIB:
        return decompress_inflate(false, in, writer, error, size);
    case BODY_ZSTD:
        return decompress_zstd(in, writer, error, size);
    case BODY_MSFZ:
        return decompress_msfz(in, writer, error, size);
    default:
        return decompress_fail(BODY_BAD, error, size, "nothing to unpack");
    }
}
