/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes an MSF 7.0 container: the superblock, all streams in their order, the
 * directory, and the map of its blocks.  Of each block_size blocks, the second
 * and the third are free page maps, of which the first one is in use.
 */
#include "msfz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/le.h"
#include "container.h"

#define BLOCK_SIZE 4096
#define BLOCK_SIZE_MAX 32768
#define BLOCKS (1u << 20) /* for more, blocks become larger */
#define MAP_OFFSET 52

static const char magic[32] = "Microsoft C/C++ MSF 7.00\r\n\x1a"
                              "DS\0\0";

struct msfz_layout {
    uint32_t block_size;
    uint64_t *first; /* of each stream: the ordinal number of its first block */
    uint64_t directory, map, end; /* ordinal numbers, too */
    uint64_t directory_size;      /* bytes */
    uint32_t num_blocks;
};

struct msfz_expansion {
    const struct msfz_io *io;
    struct msfz_container container;
    struct msfz_layout layout;
    char *error;
    size_t error_size;
};

/* The number of a block by its ordinal number, which free page maps lack. */
static uint64_t expanded_block(const struct msfz_layout *expanded,
                               uint64_t ordinal)
{
    uint64_t interval = ordinal / (expanded->block_size - 2);
    uint64_t rest = ordinal % (expanded->block_size - 2);

    return interval * expanded->block_size + (rest == 0 ? 0 : rest + 2);
}

static uint64_t expanded_blocks(const struct msfz_layout *expanded,
                                uint64_t bytes)
{
    return (bytes + expanded->block_size - 1) / expanded->block_size;
}

/* Lays everything out in blocks of this size. */
static void expand_layout(const struct msfz_container *c,
                          struct msfz_layout *expanded, uint32_t block_size)
{
    uint64_t numbers = 0, at = 1;
    uint32_t i;

    expanded->block_size = block_size;
    for (i = 0; i < c->num_streams; i++) {
        expanded->first[i] = at;
        at += c->sizes[i] == MSFZ_NIL ? 0
                                      : expanded_blocks(expanded, c->sizes[i]);
    }
    numbers = at - 1;
    expanded->directory = at;
    expanded->directory_size = 4 + 4 * (uint64_t)c->num_streams + 4 * numbers;
    at += expanded_blocks(expanded, expanded->directory_size);
    expanded->map = at;
    at += expanded_blocks(expanded, 4 * (expanded->map - expanded->directory));
    if (expanded_block(expanded, at - 1) % block_size == 0) {
        at++; /* both free page maps are there */
    }
    expanded->end = at;
}

static enum msfz_status expand_plan(struct msfz_expansion *expansion)
{
    const struct msfz_container *c = &expansion->container;
    struct msfz_layout *expanded = &expansion->layout;
    uint32_t block_size = BLOCK_SIZE, i;
    uint64_t total = 0, size;

    for (i = 0; i < c->num_streams; i++) {
        total += c->sizes[i] == MSFZ_NIL ? 0 : c->sizes[i];
    }
    if (total > MSFZ_RATIO_FREE + MSFZ_RATIO_MAX * expansion->io->size) {
        return msfz_fail(MSFZ_LIMIT, expansion->error, expansion->error_size,
                         "a compressed PDB (MSFZ) that becomes more than %d "
                         "times as large",
                         MSFZ_RATIO_MAX);
    }
    expanded->first = calloc(c->num_streams, sizeof(*expanded->first));
    if (expanded->first == NULL) {
        return msfz_fail(MSFZ_FAILED, expansion->error, expansion->error_size,
                         "out of memory");
    }
    for (;; block_size *= 2) {
        expand_layout(c, expanded, block_size);
        size = (expanded_block(expanded, expanded->end - 1) + 1) * block_size;
        if (size / block_size <= BLOCKS || block_size == BLOCK_SIZE_MAX) {
            break;
        }
    }
    if (size > expansion->io->max || size / block_size > UINT32_MAX ||
        MAP_OFFSET + 4 * (expanded->end - expanded->map) > block_size) {
        return msfz_fail(MSFZ_LIMIT, expansion->error, expansion->error_size,
                         "a compressed PDB (MSFZ) that becomes larger than is "
                         "allowed: %llu bytes",
                         (unsigned long long)size);
    }
    expanded->num_blocks = (uint32_t)(size / block_size);
    return MSFZ_OK;
}

static enum msfz_status write_expanded(const struct msfz_expansion *expansion,
                                       uint64_t offset, const void *data,
                                       size_t len)
{
    return expansion->io->write(expansion->io->context, offset, data, len) == 0
               ? MSFZ_OK
               : msfz_fail(MSFZ_FAILED, expansion->error,
                           expansion->error_size, "%s", strerror(errno));
}

/* Writes what begins at a block with this ordinal number, at an offset from
 * there.  Free page maps between are left out. */
static enum msfz_status
write_expanded_blocks(const struct msfz_expansion *expansion, uint64_t first,
                      uint64_t offset, const uint8_t *data, uint64_t len)
{
    const struct msfz_layout *expanded = &expansion->layout;
    enum msfz_status status = MSFZ_OK;
    uint64_t ordinal, in_block, run, straight;

    while (len > 0 && status == MSFZ_OK) {
        ordinal = first + offset / expanded->block_size;
        in_block = offset % expanded->block_size;
        /* up to the next maps, which are after the first of an interval */
        straight = ordinal % (expanded->block_size - 2);
        straight = straight == 0 ? 1 : expanded->block_size - 2 - straight + 1;
        run = straight * expanded->block_size - in_block;
        run = run < len ? run : len;
        status = write_expanded(expansion,
                                expanded_block(expanded, ordinal) *
                                        expanded->block_size +
                                    in_block,
                                data, (size_t)run);
        data += run;
        offset += run;
        len -= run;
    }
    return status;
}

static enum msfz_status
write_expanded_part(const struct msfz_expansion *expansion,
                    const struct msfz_fragment *f, uint64_t offset,
                    const uint8_t *data, size_t len)
{
    return write_expanded_blocks(expansion, expansion->layout.first[f->stream],
                                 f->in_stream + offset, data, len);
}

static uint8_t *expand_chunk(const struct msfz_expansion *expansion,
                             const struct msfz_chunk *chunk,
                             enum msfz_status *status)
{
    uint8_t *packed = malloc(chunk->packed), *data = malloc(chunk->size);

    if (packed == NULL || data == NULL) {
        *status = msfz_fail(MSFZ_FAILED, expansion->error,
                            expansion->error_size, "out of memory");
    } else if (expansion->io->read(expansion->io->context, chunk->offset,
                                   packed, chunk->packed) != 0) {
        *status = msfz_fail(MSFZ_FAILED, expansion->error,
                            expansion->error_size, "%s", strerror(errno));
    } else {
        *status =
            msfz_unpack(chunk->compression, packed, chunk->packed, data,
                        chunk->size, expansion->error, expansion->error_size);
    }
    free(packed);
    if (*status != MSFZ_OK) {
        free(data);
        return NULL;
    }
    return data;
}

/* Unpacks each chunk that is used once, and writes its part of fragments. */
static enum msfz_status expand_packed(const struct msfz_expansion *expansion)
{
    const struct msfz_container *c = &expansion->container;
    const struct msfz_chunk *chunk;
    const struct msfz_fragment *f;
    enum msfz_status status = MSFZ_OK;
    uint64_t begin, end, stop;
    size_t i = 0, k;
    uint8_t *data;

    for (chunk = c->chunks; chunk < c->chunks + c->num_chunks; chunk++) {
        stop = chunk->begin + chunk->size;
        if (i == c->num_packed || c->packed[i].at >= stop) {
            continue;
        }
        data = expand_chunk(expansion, chunk, &status);
        for (k = i; data != NULL && k < c->num_packed && status == MSFZ_OK;
             k++) {
            f = &c->packed[k];
            begin = f->at > chunk->begin ? f->at : chunk->begin;
            end = f->at + f->size < stop ? f->at + f->size : stop;
            if (begin >= stop) {
                break;
            }
            status = write_expanded_part(expansion, f, begin - f->at,
                                         data + (begin - chunk->begin),
                                         (size_t)(end - begin));
            i = f->at + f->size <= stop ? k + 1 : k;
        }
        free(data);
        if (status != MSFZ_OK) {
            return status;
        }
    }
    return MSFZ_OK;
}

static enum msfz_status expand_plain(const struct msfz_expansion *expansion)
{
    const struct msfz_container *c = &expansion->container;
    const struct msfz_fragment *f;
    enum msfz_status status = MSFZ_OK;
    uint8_t data[65536];
    uint32_t done, len;
    size_t i;

    for (i = 0; i < c->num_plain && status == MSFZ_OK; i++) {
        f = &c->plain[i];
        for (done = 0; done < f->size && status == MSFZ_OK; done += len) {
            len = f->size - done < sizeof(data) ? f->size - done
                                                : (uint32_t)sizeof(data);
            if (expansion->io->read(expansion->io->context, f->at + done, data,
                                    len) != 0) {
                return msfz_fail(MSFZ_FAILED, expansion->error,
                                 expansion->error_size, "%s", strerror(errno));
            }
            status = write_expanded_part(expansion, f, done, data, len);
        }
    }
    return status;
}

/* A list of block numbers, one after the other. */
static uint8_t *put_expanded_blocks(const struct msfz_layout *expanded,
                                    uint8_t *p, uint64_t first, uint64_t n)
{
    for (; n > 0; n--, p += 4) {
        le32_store(p, (uint32_t)expanded_block(expanded, first++));
    }
    return p;
}

static enum msfz_status
expand_directory(const struct msfz_expansion *expansion)
{
    const struct msfz_container *c = &expansion->container;
    const struct msfz_layout *expanded = &expansion->layout;
    uint64_t blocks = expanded->map - expanded->directory;
    size_t room = (size_t)expanded->directory_size > 4 * (size_t)blocks
                      ? (size_t)expanded->directory_size
                      : 4 * (size_t)blocks;
    uint8_t *directory = malloc(room), *p = directory;
    enum msfz_status status;
    uint32_t i;

    if (directory == NULL) {
        return msfz_fail(MSFZ_FAILED, expansion->error, expansion->error_size,
                         "out of memory");
    }
    le32_store(p, c->num_streams);
    p += 4;
    for (i = 0; i < c->num_streams; i++, p += 4) {
        le32_store(p, c->sizes[i]);
    }
    for (i = 0; i < c->num_streams; i++) {
        if (c->sizes[i] != MSFZ_NIL) {
            p = put_expanded_blocks(expanded, p, expanded->first[i],
                                    expanded_blocks(expanded, c->sizes[i]));
        }
    }
    status = write_expanded_blocks(expansion, expanded->directory, 0,
                                   directory, expanded->directory_size);
    if (status == MSFZ_OK) {
        put_expanded_blocks(expanded, directory, expanded->directory, blocks);
        status = write_expanded_blocks(expansion, expanded->map, 0, directory,
                                       4 * blocks);
    }
    free(directory);
    return status;
}

/* The map in use has a bit for each block, which is set for a free one, as
 * all are after the end; the other map is all free. */
static enum msfz_status expand_maps(const struct msfz_expansion *expansion)
{
    const struct msfz_layout *expanded = &expansion->layout;
    uint64_t at, first, bit;
    enum msfz_status status = MSFZ_OK;
    uint8_t *map = malloc(expanded->block_size);
    uint32_t i;

    if (map == NULL) {
        return msfz_fail(MSFZ_FAILED, expansion->error, expansion->error_size,
                         "out of memory");
    }
    for (at = 0; at < expanded->num_blocks && status == MSFZ_OK;
         at += expanded->block_size) {
        first = at * 8; /* maps follow each other, one an interval */
        for (i = 0; i < expanded->block_size; i++) {
            bit = first + 8 * (uint64_t)i;
            map[i] = bit + 8 <= expanded->num_blocks ? 0
                     : bit >= expanded->num_blocks
                         ? 0xFF
                         : (uint8_t)(0xFF << (expanded->num_blocks - bit));
        }
        status = write_expanded(expansion, (at + 1) * expanded->block_size,
                                map, expanded->block_size);
        if (status == MSFZ_OK) {
            memset(map, 0xFF, expanded->block_size);
            status = write_expanded(expansion, (at + 2) * expanded->block_size,
                                    map, expanded->block_size);
        }
    }
    free(map);
    return status;
}

static enum msfz_status
expand_superblock(const struct msfz_expansion *expansion)
{
    const struct msfz_layout *expanded = &expansion->layout;
    uint8_t block[BLOCK_SIZE_MAX] = {0};

    memcpy(block, magic, sizeof(magic));
    le32_store(block + 32, expanded->block_size);
    le32_store(block + 36, 1); /* the free page map in use */
    le32_store(block + 40, expanded->num_blocks);
    le32_store(block + 44, (uint32_t)expanded->directory_size);
    put_expanded_blocks(
        expanded, block + MAP_OFFSET, expanded->map,
        expanded_blocks(expanded, 4 * (expanded->map - expanded->directory)));
    return write_expanded(expansion, 0, block, expanded->block_size);
}

enum msfz_status msfz_expand(const struct msfz_io *io, uint64_t *size,
                             char *error, size_t error_size)
{
    static enum msfz_status (*const steps[])(
        const struct msfz_expansion *expansion) = {
        expand_superblock, expand_maps, expand_plain, expand_packed,
        expand_directory};
    struct msfz_expansion expansion = {
        .io = io, .error = error, .error_size = error_size};
    const struct msfz_layout *expanded = &expansion.layout;
    static const uint8_t zero[1];
    enum msfz_status status;
    size_t i;

    status = msfz_container_read(&expansion.container, io, error, error_size);
    if (status == MSFZ_OK) {
        status = expand_plan(&expansion);
    }
    for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && status == MSFZ_OK;
         i++) {
        status = steps[i](&expansion);
    }
    if (status == MSFZ_OK) {
        *size = (uint64_t)expanded->num_blocks * expanded->block_size;
        /* the last byte, 0 even where a block number fills the block */
        status = write_expanded(&expansion, *size - 1, zero, sizeof(zero));
    }
    free(expansion.layout.first);
    msfz_container_free(&expansion.container);
    return status;
}

/* memory ----------------------------------------------------------------- */

struct expand_memory {
    const uint8_t *data;
    uint8_t *to;
    size_t room;
};

static int expand_read_memory(void *context, uint64_t offset, void *to,
                              size_t len)
{
    const struct expand_memory *m = context;

    memcpy(to, m->data + offset, len);
    return 0;
}

static int expand_write_memory(void *context, uint64_t offset,
                               const void *data, size_t len)
{
    const struct expand_memory *m = context;

    if (offset > m->room || len > m->room - offset) {
        errno = ENOSPC;
        return -1;
    }
    memcpy(m->to + offset, data, len);
    return 0;
}

enum msfz_status msfz_expand_memory(const uint8_t *data, size_t size,
                                    uint8_t *to, size_t room, uint64_t *made,
                                    char *error, size_t error_size)
{
    struct expand_memory memory = {data, to, room};
    const struct msfz_io io = {&memory, size, room, expand_read_memory,
                               expand_write_memory};

    return msfz_expand(&io, made, error, error_size);
}
