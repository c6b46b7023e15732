/*
 * Copyright (C) the ngx_symcache authors
 */
#include "container.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/array.h"
#include "base/le.h"

#define HEADER_SIZE 80
#define CHUNK_SIZE 20
#define CHUNKS_MAX (1u << 22)
#define DIRECTORY_MAX (256u << 20)
#define DAMAGED "a damaged compressed PDB (MSFZ): "
#define TRUNCATED "a truncated compressed PDB (MSFZ): "
#define TOO_LARGE "a compressed PDB (MSFZ) that becomes too large: "
#define PACKED ((uint64_t)1 << 63)
#define PLACE_MAX (((uint64_t)1 << 48) - 1)

struct container_header {
    uint64_t directory, chunks; /* offsets */
    uint32_t num_streams, num_chunks;
    uint32_t compression, packed, size; /* of the directory */
};

enum msfz_status msfz_fail(enum msfz_status status, char *error, size_t size,
                           const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, size, format, args);
    va_end(args);
    return status;
}

static enum msfz_status container_no_memory(char *error, size_t size)
{
    return msfz_fail(MSFZ_FAILED, error, size, "out of memory");
}

bool msfz_sniff(const uint8_t *data, size_t size)
{
    return size >= sizeof(MSFZ_MAGIC) &&
           memcmp(data, MSFZ_MAGIC, sizeof(MSFZ_MAGIC)) == 0;
}

/* Reads a part of the file, which must be inside it. */
static enum msfz_status container_read_at(const struct msfz_io *io,
                                          uint64_t offset, void *to,
                                          size_t len, char *error, size_t size)
{
    if (offset > io->size || len > io->size - offset) {
        return msfz_fail(MSFZ_TRUNCATED, error, size,
                         TRUNCATED "a part would be at %llu",
                         (unsigned long long)offset);
    }
    if (io->read(io->context, offset, to, len) != 0) {
        return msfz_fail(MSFZ_FAILED, error, size, "%s",
                         strerror(errno));
    }
    return MSFZ_OK;
}

static enum msfz_status container_parse_header(const uint8_t *p,
                                               struct container_header *header,
                                               char *error, size_t size)
{
    uint64_t version = le64(p + 32);

    if (!msfz_sniff(p, HEADER_SIZE)) {
        return msfz_fail(MSFZ_DAMAGED, error, size,
                         "no compressed PDB (MSFZ)");
    }
    if (version != 0) {
        return msfz_fail(MSFZ_UNKNOWN, error, size,
                         "a compressed PDB (MSFZ) of version %llu, of which "
                         "only 0 is known",
                         (unsigned long long)version);
    }
    header->directory = le64(p + 40);
    header->chunks = le64(p + 48);
    header->num_streams = le32(p + 56);
    header->compression = le32(p + 60);
    header->packed = le32(p + 64);
    header->size = le32(p + 68);
    header->num_chunks = le32(p + 72);
    if (header->num_chunks > CHUNKS_MAX ||
        le32(p + 76) != header->num_chunks * CHUNK_SIZE) {
        return msfz_fail(MSFZ_DAMAGED, error, size,
                         DAMAGED "table of %u chunks", header->num_chunks);
    }
    if (header->num_streams == 0 || header->size > DIRECTORY_MAX ||
        header->packed > DIRECTORY_MAX ||
        header->num_streams > header->size / 4) {
        return msfz_fail(MSFZ_DAMAGED, error, size,
                         DAMAGED "directory of %u streams in %u bytes",
                         header->num_streams, header->size);
    }
    return MSFZ_OK;
}

uint64_t msfz_bound(const uint8_t *data, size_t size)
{
    uint64_t bound = size, most, filled;
    char error[128];
    struct container_header header;
    uint32_t i;

    if (size < HEADER_SIZE ||
        container_parse_header(data, &header, error, sizeof(error)) !=
            MSFZ_OK ||
        header.chunks > size ||
        (uint64_t)header.num_chunks * CHUNK_SIZE > size - header.chunks) {
        return 0;
    }
    for (i = 0; i < header.num_chunks; i++) {
        bound += le32(data + header.chunks + (size_t)i * CHUNK_SIZE + 16);
    }
    most = MSFZ_RATIO_FREE + MSFZ_RATIO_MAX * (uint64_t)size;
    bound = bound < most ? bound : most;
    /* the last block of each stream, of which those with a block have a byte;
     * the numbers of blocks and streams, and the free page maps; blocks are
     * larger in large files */
    filled = header.num_streams < bound ? header.num_streams : bound;
    return bound + bound / 64 + (1u << 20) + 8 * (uint64_t)header.num_streams +
           filled * (bound < 1u << 30 ? 4096 : 32768);
}

static enum msfz_status container_read_chunks(
    struct msfz_container *container, const struct msfz_io *io,
    const struct container_header *header, char *error, size_t size)
{
    uint8_t row[CHUNK_SIZE];
    struct msfz_chunk *chunk;
    enum msfz_status status;
    uint64_t at = header->chunks, begin = 0;

    if (at > io->size ||
        (uint64_t)header->num_chunks * CHUNK_SIZE > io->size - at) {
        return msfz_fail(MSFZ_TRUNCATED, error, size,
                         TRUNCATED "the table of chunks would be at %llu",
                         (unsigned long long)at);
    }
    container->chunks =
        calloc((size_t)header->num_chunks + 1, sizeof(*container->chunks));
    if (container->chunks == NULL) {
        return container_no_memory(error, size);
    }
    for (; container->num_chunks < header->num_chunks;
         container->num_chunks++, at += CHUNK_SIZE) {
        status = container_read_at(io, at, row, sizeof(row), error, size);
        if (status != MSFZ_OK) {
            return status;
        }
        chunk = &container->chunks[container->num_chunks];
        *chunk = (struct msfz_chunk){le64(row), begin, le32(row + 12),
                                     le32(row + 16), le32(row + 8)};
        if (chunk->size == 0 || chunk->size > MSFZ_CHUNK_MAX ||
            chunk->packed == 0 || chunk->packed > MSFZ_CHUNK_MAX) {
            return msfz_fail(MSFZ_DAMAGED, error, size,
                             DAMAGED "chunk %u of %u bytes, packed %u",
                             container->num_chunks, chunk->size,
                             chunk->packed);
        }
        if (chunk->offset > io->size ||
            chunk->packed > io->size - chunk->offset) {
            return msfz_fail(MSFZ_TRUNCATED, error, size,
                             TRUNCATED "chunk %u would be at %llu",
                             container->num_chunks,
                             (unsigned long long)chunk->offset);
        }
        begin += chunk->size;
    }
    container->chunks[container->num_chunks].begin =
        begin; /* the end of all */
    return MSFZ_OK;
}

static enum msfz_status container_inflate_raw(const uint8_t *packed,
                                              size_t packed_size, uint8_t *to,
                                              size_t size)
{
    z_stream z = {.next_in = (uint8_t *)packed,
                  .avail_in = (unsigned)packed_size,
                  .next_out = to,
                  .avail_out = (unsigned)size};
    int rc;

    if (inflateInit2(&z, -15) != Z_OK) {
        return MSFZ_FAILED;
    }
    rc = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    return rc == Z_STREAM_END && z.avail_out == 0 ? MSFZ_OK : MSFZ_DAMAGED;
}

enum msfz_status msfz_unpack(uint32_t compression, const uint8_t *packed,
                             size_t packed_size, uint8_t *to, size_t size,
                             char *error, size_t error_size)
{
    enum msfz_status status = MSFZ_DAMAGED;

    switch (compression) {
    case 0:
        if (packed_size == size) {
            memcpy(to, packed, size);
            status = MSFZ_OK;
        }
        break;
    case 1:
        if (ZSTD_decompress(to, size, packed, packed_size) == size) {
            status = MSFZ_OK;
        }
        break;
    case 2:
        status = container_inflate_raw(packed, packed_size, to, size);
        break;
    default:
        return msfz_fail(MSFZ_UNKNOWN, error, error_size,
                         "a compressed PDB (MSFZ) with compression %u, of "
                         "which only 1 and 2 are known",
                         compression);
    }
    if (status == MSFZ_DAMAGED) {
        msfz_fail(status, error, error_size,
                  DAMAGED "data does not unpack to %zu bytes", size);
    } else if (status == MSFZ_FAILED) {
        container_no_memory(error, error_size);
    }
    return status;
}

/* Reads the directory and unpacks it.  The caller frees *directory. */
static enum msfz_status
container_read_directory(const struct msfz_io *io,
                         const struct container_header *header,
                         uint8_t **directory, char *error, size_t size)
{
    enum msfz_status status;
    uint8_t *packed;

    *directory = NULL;
    if (header->size > MSFZ_RATIO_FREE + MSFZ_RATIO_MAX * io->size) {
        return msfz_fail(MSFZ_LIMIT, error, size,
                         TOO_LARGE "directory of %u bytes", header->size);
    }
    if (header->packed > io->size) {
        return msfz_fail(MSFZ_TRUNCATED, error, size,
                         TRUNCATED "the directory has %u bytes",
                         header->packed);
    }
    packed = malloc((size_t)header->packed + 1);
    *directory = malloc((size_t)header->size + 1);
    if (packed == NULL || *directory == NULL) {
        free(packed);
        return container_no_memory(error, size);
    }
    status = container_read_at(io, header->directory, packed, header->packed,
                               error, size);
    if (status == MSFZ_OK) {
        status = msfz_unpack(header->compression, packed, header->packed,
                             *directory, header->size, error, size);
    }
    free(packed);
    return status;
}

/* Where a fragment is, which must be inside the file or the chunks. */
static bool container_place_fragment(const struct msfz_container *container,
                                     const struct msfz_io *io,
                                     uint64_t location,
                                     struct msfz_fragment *f)
{
    uint64_t end = io->size;
    uint32_t chunk = (uint32_t)(location >> 32) & 0x7FFFFFFF;

    f->at = location;
    if (location & PACKED) {
        if (chunk >= container->num_chunks ||
            (uint32_t)location >= container->chunks[chunk].size) {
            return false;
        }
        f->at = container->chunks[chunk].begin + (uint32_t)location;
        end = container->chunks[container->num_chunks].begin;
    } else if (location > PLACE_MAX) {
        return false;
    }
    return f->at <= end && f->size <= end - f->at;
}

struct container_room {
    size_t plain_room, packed_room;
};

static int container_add_fragment(struct msfz_container *container,
                                  struct container_room *room,
                                  const struct msfz_fragment *f,
                                  bool is_packed)
{
    struct msfz_fragment **list =
        is_packed ? &container->packed : &container->plain;
    size_t *n = is_packed ? &container->num_packed : &container->num_plain;

    if (array_need(list, is_packed ? &room->packed_room : &room->plain_room,
                   *n + 1, sizeof(**list)) != 0) {
        return -1;
    }
    (*list)[(*n)++] = *f;
    return 0;
}

static enum msfz_status
container_read_streams(struct msfz_container *container,
                       const struct msfz_io *io,
                       const struct container_header *header, const uint8_t *p,
                       char *error, size_t size)
{
    const uint8_t *end = p + header->size;
    struct msfz_fragment f = {0};
    struct container_room room = {0};
    uint64_t location;

    container->sizes = calloc(header->num_streams, sizeof(*container->sizes));
    if (container->sizes == NULL) {
        return container_no_memory(error, size);
    }
    for (f.stream = 0; f.stream < header->num_streams; f.stream++) {
        f.in_stream = 0;
        while (end - p >= 4 && (f.size = le32(p)) != 0 && f.size != MSFZ_NIL) {
            location = end - p >= 12 ? le64(p + 4) : UINT64_MAX;
            if (!container_place_fragment(container, io, location, &f) ||
                f.in_stream + f.size >= MSFZ_NIL) {
                return msfz_fail(MSFZ_DAMAGED, error, size,
                                 DAMAGED "stream %u has a part of %u bytes "
                                         "that is nowhere",
                                 f.stream, f.size);
            }
            if (container_add_fragment(container, &room, &f,
                                       (location & PACKED) != 0) != 0) {
                return container_no_memory(error, size);
            }
            f.in_stream += f.size;
            p += 12;
        }
        if (end - p < 4 || (f.size == MSFZ_NIL && f.in_stream > 0)) {
            return msfz_fail(MSFZ_DAMAGED, error, size,
                             DAMAGED "the directory ends in stream %u",
                             f.stream);
        }
        container->sizes[f.stream] =
            f.size == MSFZ_NIL ? MSFZ_NIL : (uint32_t)f.in_stream;
        container->num_streams++;
        p += 4;
    }
    return MSFZ_OK;
}

static int compare_fragments(const void *a, const void *b)
{
    const struct msfz_fragment *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

/* Nothing may be used twice: so the work, and the size, are limited. */
static bool container_is_disjoint(struct msfz_fragment *list, size_t n)
{
    size_t i;

    if (n > 0) {
        qsort(list, n, sizeof(*list), compare_fragments);
    }
    for (i = 1; i < n; i++) {
        if (list[i].at - list[i - 1].at < list[i - 1].size) {
            return false;
        }
    }
    return true;
}

enum msfz_status msfz_container_read(struct msfz_container *container,
                                     const struct msfz_io *io, char *error,
                                     size_t error_size)
{
    uint8_t head[HEADER_SIZE], *directory = NULL;
    enum msfz_status status;
    struct container_header header;

    memset(container, 0, sizeof(*container));
    status = container_read_at(io, 0, head, sizeof(head), error, error_size);
    if (status == MSFZ_OK) {
        status = container_parse_header(head, &header, error, error_size);
    }
    if (status == MSFZ_OK) {
        status =
            container_read_chunks(container, io, &header, error, error_size);
    }
    if (status == MSFZ_OK) {
        status = container_read_directory(io, &header, &directory, error,
                                          error_size);
    }
    if (status == MSFZ_OK) {
        status = container_read_streams(container, io, &header, directory,
                                        error, error_size);
    }
    free(directory);
    if (status == MSFZ_OK &&
        (!container_is_disjoint(container->plain, container->num_plain) ||
         !container_is_disjoint(container->packed, container->num_packed))) {
        status = msfz_fail(MSFZ_DAMAGED, error, error_size,
                           DAMAGED "parts of streams overlap");
    }
    return status;
}

void msfz_container_free(struct msfz_container *container)
{
    free(container->chunks);
    free(container->sizes);
    free(container->plain);
    free(container->packed);
    memset(container, 0, sizeof(*container));
}
