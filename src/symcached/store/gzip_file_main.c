/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process that compresses a file.
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

/* Compresses what is in the buffer; at the end of the input, also the rest. */
static int gzip_file_deflate(z_stream *z, struct sink *sink, bool end)
{
    static unsigned char out[GZIP_FILE_BUFFER];
    int rc;

    do {
        z->next_out = out;
        z->avail_out = sizeof(out);
        rc = deflate(z, end ? Z_FINISH : Z_NO_FLUSH);
        if (rc == Z_STREAM_ERROR ||
            sink_write(sink, out, sizeof(out) - z->avail_out) != 0) {
            return -1;
        }
    } while (z->avail_out == 0);

    return 0;
}

static int gzip_file_compress(struct sink *sink)
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
        if (gzip_file_deflate(&z, sink, n == 0) != 0) {
            return -1;
        }
    } while (n > 0);

    (void)deflateEnd(&z);
    return durable_sync(GZIP_FILE_OUT);
}

int gzip_file_main(int argc, char **argv)
{
    struct sandbox_limits limits = {GZIP_FILE_MEMORY, 0, GZIP_FILE_SECONDS};
    struct sink sink = {.fd = GZIP_FILE_OUT, .max = UINT64_MAX};
    char error[512];

    if (argc > 2) {
        sink.keep = strtoull(argv[2], NULL, 10);
    }

    /* Jobs for which somebody waits come first. */
    (void)setpriority(PRIO_PROCESS, 0, 10);

    if (sandbox_enter(&limits, error, sizeof(error)) != 0) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    if (gzip_file_compress(&sink) != 0) {
        snprintf(error, sizeof(error), "%s", strerror(errno));
        if (sink.error != 0) {
            sink_reason(&sink, error, sizeof(error));
        }
        fprintf(stderr, "%s\n", error);
        return sink_is_full(&sink) ? GZIP_FILE_FULL : 1;
    }
    return 0;
}
