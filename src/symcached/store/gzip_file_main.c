/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child processes that compress a file, and unpack one.
 */
#include "gzip_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "base/durable.h"
#include "child/child.h"
#include "sandbox/sandbox.h"
#include "symcached/space/space.h"

#define GZIP_FILE_IN CHILD_FD
#define GZIP_FILE_OUT (CHILD_FD + 1)
#define GZIP_FILE_MEMORY (64ull * 1024 * 1024)
#define GZIP_FILE_BUFFER 65536

/* Compresses the buffer; at the end of the input, also flushes the rest. */
static int deflate_piece(z_stream *z, struct limited_writer *writer, bool end)
{
    static unsigned char out[GZIP_FILE_BUFFER];
    int rc;

    do {
        z->next_out = out;
        z->avail_out = sizeof(out);
        rc = deflate(z, end ? Z_FINISH : Z_NO_FLUSH);
        if (rc == Z_STREAM_ERROR ||
            limited_writer_write(writer, out, sizeof(out) - z->avail_out) !=
                0) {
            return -1;
        }
    } while (z->avail_out == 0);

    return 0;
}

static int gzip_file_compress(struct limited_writer *writer)
{
    static unsigned char in[GZIP_FILE_BUFFER];
    z_stream z = {0};
    ssize_t n;

    /* 16 asks for a gzip header, which has neither a name nor a time, so
     * that the output depends on the file alone. */
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }

    do {
        n = read(GZIP_FILE_IN, in, sizeof(in));
        if (n < 0) {
            if (errno == EINTR) {
                n = 1;
                continue;
            }
            return -1;
        }
        z.next_in = in;
        z.avail_in = (uInt)n;
        if (deflate_piece(&z, writer, n == 0) != 0) {
            return -1;
        }
    } while (n > 0);

    (void)deflateEnd(&z);
    return durable_sync(GZIP_FILE_OUT);
}

/* The result of an inflate(), once its output was written. */
enum inflated { INFLATED_MORE, INFLATED_END, INFLATED_FAILED };

static enum inflated gunzip_inflate(z_stream *z, struct limited_writer *writer,
                                    const char **why)
{
    static unsigned char out[GZIP_FILE_BUFFER];
    int rc;

    do {
        z->next_out = out;
        z->avail_out = sizeof(out);
        rc = inflate(z, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) {
            *why = z->msg != NULL ? z->msg : "no gzip file";
            return INFLATED_FAILED;
        }
        if (limited_writer_write(writer, out, sizeof(out) - z->avail_out) !=
            0) {
            return INFLATED_FAILED;
        }
    } while (rc == Z_OK && z->avail_out == 0);

    return rc == Z_STREAM_END ? INFLATED_END : INFLATED_MORE;
}

/* Returns 0, or -1 with the reason in *why, or in writer. */
static int gunzip_file(struct limited_writer *writer, const char **why)
{
    static unsigned char in[GZIP_FILE_BUFFER];
    enum inflated state = INFLATED_MORE;
    z_stream z = {0};
    ssize_t n;

    if (inflateInit2(&z, MAX_WBITS + 16) != Z_OK) {
        *why = "out of memory";
        return -1;
    }
    do {
        n = read(GZIP_FILE_IN, in, sizeof(in));
        if (n < 0) {
            *why = strerror(errno);
            return -1;
        }
        z.next_in = in;
        z.avail_in = (uInt)n;
        if (n > 0 && state == INFLATED_MORE) {
            state = gunzip_inflate(&z, writer, why);
        }
        if (state == INFLATED_END && z.avail_in > 0) {
            *why = "something follows the end of the gzip file";
            return -1;
        }
    } while (n > 0 && state != INFLATED_FAILED);

    if (state == INFLATED_MORE) {
        *why = "the gzip file is cut short";
    }
    (void)inflateEnd(&z);
    return state == INFLATED_END ? 0 : -1;
}

int gunzip_file_main(int argc, char **argv)
{
    struct sandbox_limits limits = {GZIP_FILE_MEMORY, 0, GZIP_FILE_SECONDS};
    struct limited_writer writer = {.fd = GZIP_FILE_OUT};
    const char *why = NULL;
    char error[512];

    if (argc > 3) {
        writer.keep = strtoull(argv[2], NULL, 10);
        writer.max = strtoull(argv[3], NULL, 10);
    }
    if (sandbox_enter(&limits, NULL, error, sizeof(error)) != 0) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    if (gunzip_file(&writer, &why) != 0) {
        if (writer.error == EFBIG) {
            why = "more comes out of it than its metadata say";
        } else if (why == NULL) {
            limited_writer_reason(&writer, error, sizeof(error));
            why = error;
        }
        fprintf(stderr, "%s\n", why);
        return limited_writer_is_full(&writer) ? GZIP_FILE_FULL : 1;
    }
    return 0;
}

int gzip_file_main(int argc, char **argv)
{
    struct sandbox_limits limits = {GZIP_FILE_MEMORY, 0, GZIP_FILE_SECONDS};
    struct limited_writer writer = {.fd = GZIP_FILE_OUT, .max = UINT64_MAX};
    char error[512];

    if (argc > 2) {
        writer.keep = strtoull(argv[2], NULL, 10);
    }

    /* Jobs with waiting clients come first. */
    (void)setpriority(PRIO_PROCESS, 0, 10);

    if (sandbox_enter(&limits, NULL, error, sizeof(error)) != 0) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    if (gzip_file_compress(&writer) != 0) {
        snprintf(error, sizeof(error), "%s", strerror(errno));
        if (writer.error != 0) {
            limited_writer_reason(&writer, error, sizeof(error));
        }
        fprintf(stderr, "%s\n", error);
        return limited_writer_is_full(&writer) ? GZIP_FILE_FULL : 1;
    }
    return 0;
}
