/*
 * Copyright (C) the ngx_symcache authors
 */
#include "inflate.h"

#include <limits.h>
#include <stdlib.h>

#include <zlib.h>

#define RATIO_MAX 1032 /* of deflate */
#define RAW (-MAX_WBITS)

/* Runs until the end of the stream or of the output, one byte beyond what was
 * stated. */
static enum inflate_status run_inflate(z_stream *z, size_t stated)
{
    int rc = inflate(z, Z_FINISH);

    if (z->total_out > stated) {
        return INFLATE_SIZE;
    }
    if (rc == Z_MEM_ERROR) {
        return INFLATE_NO_MEMORY;
    }
    if (rc != Z_STREAM_END) {
        return INFLATE_DAMAGED;
    }
    return z->total_out == stated ? INFLATE_OK : INFLATE_SIZE;
}

enum inflate_status inflate_whole(const uint8_t *data, size_t size,
                                  size_t stated, uint8_t **unpacked)
{
    enum inflate_status status;
    z_stream z = {0};

    if (size >= UINT_MAX || stated >= UINT_MAX ||
        stated / RATIO_MAX > size) {
        return INFLATE_SIZE;
    }
    *unpacked = malloc(stated + 1);
    if (*unpacked == NULL || inflateInit2(&z, RAW) != Z_OK) {
        free(*unpacked);
        *unpacked = NULL;
        return INFLATE_NO_MEMORY;
    }
    z.next_in = (Bytef *)(uintptr_t)data; /* it is only read */
    z.avail_in = (uInt)size;
    z.next_out = *unpacked;
    z.avail_out = (uInt)stated + 1;
    status = run_inflate(&z, stated);
    inflateEnd(&z);
    if (status != INFLATE_OK) {
        free(*unpacked);
        *unpacked = NULL;
    }
    return status;
}
