/*
 * Copyright (C) the ngx_symcache authors
 */
#include "packed_body.h"

#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

#include "reports/crash/crash.h"

enum packing packed_by_name(const char *coding)
{
    if (coding == NULL || coding[0] == '\0' ||
        strcasecmp(coding, "identity") == 0) {
        return PACKED_NOT;
    }
    if (strcasecmp(coding, "gzip") == 0 || strcasecmp(coding, "x-gzip") == 0) {
        return PACKED_GZIP;
    }
    return strcasecmp(coding, "zstd") == 0 ? PACKED_ZSTD : PACKED_OTHER;
}

enum packing packed_by_content(const struct bytes *bytes)
{
    if (bytes->size >= 2 && memcmp(bytes->data, "\x1f\x8b", 2) == 0) {
        return PACKED_GZIP;
    }
    return bytes->size >= 4 && memcmp(bytes->data, "\x28\xb5\x2f\xfd", 4) == 0
               ? PACKED_ZSTD
               : PACKED_NOT;
}

static void have_nothing(void *arg, const struct work_file *file,
                         const uint8_t *data, size_t size)
{
}

/*
 * The kernel gives pages when they are written.  The memory is shared,
 * although with nothing, because the limit of the process's own memory has no
 * room for it; symbolicated counts it instead.
 */
static void take_room(struct packed_room *room)
{
    void *data;

    if (room->data != NULL) {
        return;
    }
    work_say(room->service, CRASH_ROOM, strlen(CRASH_ROOM));
    work_ask(room->service, have_nothing, NULL);
    data = mmap(NULL, room->most, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) {
        work_cannot();
    }
    room->data = data;
}

/* A file in the gzip format may have several members. */
static enum packed_result undo_gzip(const struct bytes *in, uint8_t *out,
                                    uint64_t most, uint64_t *size)
{
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)in->data};
    uint64_t in_left = in->size, out_left = most;
    int rc = inflateInit2(&z, MAX_WBITS + 16);

    z.next_out = out;
    while (rc == Z_OK) {
        if (z.avail_in == 0) {
            z.avail_in = (uInt)(in_left < UINT_MAX ? in_left : UINT_MAX);
            in_left -= z.avail_in;
        }
        if (z.avail_out == 0) {
            z.avail_out = (uInt)(out_left < UINT_MAX ? out_left : UINT_MAX);
            out_left -= z.avail_out;
        }
        rc = inflate(&z, Z_NO_FLUSH);
        if (rc == Z_STREAM_END && z.avail_in + in_left > 0) {
            rc = inflateReset(&z);
        }
    }
    *size = most - out_left - z.avail_out;
    inflateEnd(&z);
    if (rc == Z_STREAM_END) {
        return PACKED_DONE;
    }
    return rc == Z_BUF_ERROR && z.avail_out == 0 ? PACKED_LARGE
                                                 : PACKED_DAMAGED;
}

static enum packed_result undo_zstd(const struct bytes *in, uint8_t *out,
                                    uint64_t most, uint64_t *size)
{
    ZSTD_inBuffer from = {in->data, in->size, 0};
    ZSTD_outBuffer to = {out, most, 0};
    ZSTD_DStream *stream = ZSTD_createDStream();
    size_t rc = 1, before;

    while (stream != NULL && (from.pos < from.size || rc != 0)) {
        before = from.pos + to.pos;
        rc = ZSTD_decompressStream(stream, &to, &from);
        if (ZSTD_isError(rc) || (rc != 0 && from.pos + to.pos == before)) {
            break;
        }
    }
    ZSTD_freeDStream(stream);
    *size = to.pos;
    if (stream != NULL && rc == 0 && from.pos == from.size) {
        return PACKED_DONE;
    }
    return !ZSTD_isError(rc) && to.pos == to.size ? PACKED_LARGE
                                                  : PACKED_DAMAGED;
}

enum packed_result packed_undo(struct packed_room *room, enum packing packing,
                               struct bytes *bytes)
{
    enum packed_result result;
    uint64_t size;
    uint8_t *out;

    take_room(room);
    out = room->data + room->used;
    result = (packing == PACKED_GZIP ? undo_gzip : undo_zstd)(
        bytes, out, room->most - room->used, &size);
    room->used += size;
    *bytes = (struct bytes){out, size};
    return result;
}

void packed_free(struct packed_room *room)
{
    if (room->data != NULL) {
        munmap(room->data, room->most);
    }
}
