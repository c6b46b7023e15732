/*
 * Copyright (C) the ngx_symcache authors
 */
#include "packer.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

/* Answers are made faster than these levels pack. */
#define GZIP_LEVEL 1
#define ZSTD_LEVEL 1

#define ROOM 16384 /* at a time */

struct packer {
    ZSTD_CCtx *zstd; /* or NULL */
    z_stream gzip;
    struct json_writer packed;
};

struct packer *packer_new(enum api_packing packing)
{
    struct packer *packer = calloc(1, sizeof(*packer));

    if (packer == NULL) {
        return NULL;
    }
    if (packing == API_ZSTD) {
        packer->zstd = ZSTD_createCCtx();
        if (packer->zstd == NULL) {
            free(packer);
            return NULL;
        }
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel,
                               ZSTD_LEVEL);
    } else if (deflateInit2(&packer->gzip, GZIP_LEVEL, Z_DEFLATED,
                            MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(packer);
        return NULL;
    }
    return packer;
}

/* Returns whether there is more to come. */
static bool pack_zstd(struct packer *packer, ZSTD_inBuffer *in, char *room,
                      size_t *size, bool is_last)
{
    ZSTD_outBuffer out = {room, ROOM, 0};
    size_t left = ZSTD_compressStream2(packer->zstd, &out, in,
                                       is_last ? ZSTD_e_end : ZSTD_e_flush);

    *size = out.pos;
    packer->packed.has_failed |= ZSTD_isError(left) != 0;
    return left > 0;
}

static bool pack_gzip(struct packer *packer, ZSTD_inBuffer *in, char *room,
                      size_t *size, bool is_last)
{
    z_stream *z = &packer->gzip;
    int rc;

    z->next_in = (unsigned char *)(uintptr_t)in->src + in->pos;
    z->avail_in = (unsigned)(in->size - in->pos);
    z->next_out = (unsigned char *)room;
    z->avail_out = ROOM;
    rc = deflate(z, is_last ? Z_FINISH : Z_SYNC_FLUSH);
    in->pos = in->size - z->avail_in;
    *size = ROOM - z->avail_out;
    packer->packed.has_failed |= rc == Z_STREAM_ERROR;
    return z->avail_out == 0;
}

void packer_pack(struct packer *packer, struct json_writer *part, bool is_last)
{
    ZSTD_inBuffer in = {part->data, part->size, 0};
    struct json_writer *to = &packer->packed;
    struct json_writer plain = *part;
    bool is_more = true;
    size_t size;
    char *room;

    json_write_reset(to);
    while (is_more && (room = json_write_need(to, ROOM)) != NULL) {
        is_more = (packer->zstd != NULL ? pack_zstd : pack_gzip)(
            packer, &in, room, &size, is_last);
        to->size += size;
        is_more = is_more && !to->has_failed;
    }
    plain.has_failed |= to->has_failed;
    *part = *to;
    part->has_failed = plain.has_failed;
    *to = plain;
}

void packer_free(struct packer *packer)
{
    if (packer != NULL) {
        if (packer->zstd != NULL) {
            ZSTD_freeCCtx(packer->zstd);
        } else {
            deflateEnd(&packer->gzip);
        }
        free(packer->packed.data);
        free(packer);
    }
}
