/*
 * Copyright (C) the ngx_symcache authors
 */
#include "body_input.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/array.h"

#define BODY_STEP 65536 /* bytes that are unpacked at a time */

enum input_coding input_coding(const char *name)
{
    if (name == NULL || name[0] == '\0' || strcasecmp(name, "identity") == 0) {
        return INPUT_PLAIN;
    }
    if (strcasecmp(name, "gzip") == 0 || strcasecmp(name, "x-gzip") == 0) {
        return INPUT_GZIP;
    }
    return strcasecmp(name, "zstd") == 0 ? INPUT_ZSTD : INPUT_OTHER;
}

int input_begin(struct input *in, enum input_coding coding, char *body,
                size_t size, uint64_t most)
{
    memset(in, 0, sizeof(*in));
    in->coding = coding;
    in->left = most;
    if (coding == INPUT_PLAIN) {
        in->data = body;
        in->size = size;
        return 0;
    }
    in->packed = body;
    in->packed_size = size;
    if (coding == INPUT_GZIP) {
        return inflateInit2(&in->gzip, MAX_WBITS + 16) == Z_OK ? 0 : -1;
    }
    in->zstd = ZSTD_createDCtx();
    return in->zstd != NULL ? 0 : -1;
}

static size_t unpack_gzip_body(struct input *in, char *to, size_t room)
{
    z_stream *z = &in->gzip;
    size_t size = in->packed_size < UINT_MAX ? in->packed_size : UINT_MAX;
    int rc;

    z->next_in = (unsigned char *)(uintptr_t)in->packed;
    z->avail_in = (unsigned)size;
    z->next_out = (unsigned char *)to;
    z->avail_out = (unsigned)room;
    rc = inflate(z, Z_NO_FLUSH);
    in->packed += size - z->avail_in;
    in->packed_size -= size - z->avail_in;
    in->is_begun = rc != Z_STREAM_END;
    if (rc == Z_STREAM_END) {
        inflateReset(z); /* another member may follow */
    } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
        in->error = "the body is damaged gzip";
    }
    return room - z->avail_out;
}

static size_t unpack_zstd_body(struct input *in, char *to, size_t room)
{
    ZSTD_inBuffer from = {in->packed, in->packed_size, 0};
    ZSTD_outBuffer out = {to, room, 0};
    size_t rc = ZSTD_decompressStream(in->zstd, &out, &from);

    in->packed += from.pos;
    in->packed_size -= from.pos;
    in->is_begun = rc != 0;
    if (ZSTD_isError(rc)) {
        in->error = "the body is damaged zstd";
    }
    return out.pos;
}

bool input_more(struct input *in)
{
    size_t n;

    if (in->error != NULL || (in->packed_size == 0 && !in->is_begun)) {
        return false;
    }
    in->size -= in->at;
    if (in->size > 0) { /* memory that is not there has no data */
        memmove(in->data, in->data + in->at, in->size);
    }
    in->at = 0;
    if (array_need(&in->data, &in->room, in->size + BODY_STEP, 1) != 0) {
        in->error = "out of memory";
        return false;
    }
    n = (in->coding == INPUT_GZIP ? unpack_gzip_body : unpack_zstd_body)(
        in, in->data + in->size, BODY_STEP);
    in->size += n;
    if (in->error == NULL && n == 0 && in->packed_size == 0 && in->is_begun) {
        in->error = "the packed body is cut short";
    } else if (in->error == NULL && n > in->left) {
        in->error = "the unpacked body has more bytes than "
                    "\"symbolication.limits.body_size\"";
    }
    in->left -= n < in->left ? n : in->left;
    return in->error == NULL;
}

void input_end(struct input *in)
{
    if (in->coding == INPUT_PLAIN) {
        return;
    }
    free(in->data);
    if (in->coding == INPUT_GZIP) {
        inflateEnd(&in->gzip);
    }
    ZSTD_freeDCtx(in->zstd);
}
