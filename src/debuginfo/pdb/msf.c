/*
 * Copyright (C) the ngx_symcache authors
 */

#include "msf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUPERBLOCK_SIZE 56
#define MAP_OFFSET 52
#define MAGIC_SIZE 32
#define MIN_BLOCK 512
#define MAX_BLOCK 65536
#define MAX_DIRECTORY (256u << 20)

/* clang-format off */
static const struct {
    enum msf_status status;
    unsigned len;
    const char *magic;
    const char *text;
} magics[] = {
    { MSF_OK, 32, "Microsoft C/C++ MSF 7.00\r\n\x1a" "DS\0\0\0", "" },
    { MSF_PDB2, 40, "Microsoft C/C++ program database 2.00\r\n\x1a",
      "is a PDB 2.0 (Visual C++ 6 or older): it has no GUID" },
    { MSF_MSFZ, 27, "Microsoft MSFZ Container\r\n\x1a",
      "is a compressed PDB (MSFZ container)" },
    { MSF_PORTABLE, 4, "BSJB", "is a portable PDB (.NET): no native code" },
    { MSF_NOT_PDB, 4, "MSCF", "is a cabinet: unpack it first" },
    { MSF_NOT_PDB, 2, "\x1f\x8b", "is gzip data: unpack it first" },
    { MSF_NOT_PDB, 4, "\x28\xb5\x2f\xfd", "is zstd data: unpack it first" },
    { MSF_NOT_PDB, 4, "PK\3\4", "is a zip archive: unpack it first" },
    { MSF_NOT_PDB, 4, "\x7f" "ELF", "is an ELF image, not a PDB" },
    { MSF_NOT_PDB, 2, "MZ", "is a PE image, not a PDB" },
    { MSF_NOT_PDB, 4, "SYMC", "is a SymCache, not a PDB" },
};
/* clang-format on */

bool msf_sniff(const uint8_t *data, size_t size)
{
    return size >= magics[0].len &&
           memcmp(data, magics[0].magic, magics[0].len) == 0;
}

static bool msf_is_text(const uint8_t *data, size_t size)
{
    size_t i, n;

    n = size < 64 ? size : 64;
    for (i = 0; i < n; i++) {
        if (data[i] < 0x20 && data[i] != '\n' && data[i] != '\r' &&
            data[i] != '\t') {
            return false;
        }
    }
    return true;
}

static enum msf_status identify_msf(const uint8_t *data, size_t size,
                                    char *error, size_t error_size)
{
    size_t i;
    const char *text;

    for (i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (size >= magics[i].len &&
            memcmp(data, magics[i].magic, magics[i].len) == 0) {
            snprintf(error, error_size, "%s", magics[i].text);
            return magics[i].status;
        }
    }
    if (size == 0) {
        text = "is empty";
    } else if (size < MAGIC_SIZE && memcmp(data, magics[0].magic, size) == 0) {
        text = "is truncated: a PDB has at least 56 bytes";
    } else if (msf_is_text(data, size)) {
        text = data[0] == '<' ? "is HTML or XML text, not a debug file"
                              : "is text, not a debug file";
    } else {
        text = "is not a debug file: unknown magic";
    }
    snprintf(error, error_size, "%s", text);
    return size < MAGIC_SIZE && size > 0 &&
                   memcmp(data, magics[0].magic, size) == 0
               ? MSF_TRUNCATED
               : MSF_NOT_PDB;
}

static enum msf_status damaged_msf(char *error, size_t size, const char *what,
                                   uint64_t offset, uint64_t value)
{
    snprintf(error, size, "is damaged: %s (offset %llu, value %llu)", what,
             (unsigned long long)offset, (unsigned long long)value);
    return MSF_DAMAGED;
}

static enum msf_status check_superblock(struct msf *msf, char *error,
                                        size_t size)
{
    uint64_t need;
    const uint8_t *p;

    p = msf->data;
    if (msf->size < SUPERBLOCK_SIZE) {
        snprintf(error, size, "is truncated: a PDB has at least 56 bytes");
        return MSF_TRUNCATED;
    }
    msf->block_size = le32(p + 32);
    msf->num_blocks = le32(p + 40);
    if (msf->block_size < MIN_BLOCK || msf->block_size > MAX_BLOCK ||
        (msf->block_size & (msf->block_size - 1)) != 0) {
        return damaged_msf(error, size, "block size", 32, msf->block_size);
    }
    while (1u << msf->block_shift < msf->block_size) {
        msf->block_shift++;
    }
    /* writers fill up the last block, and LLVM opens no file without: a shorter
     * one is a download that was cut off */
    need = (uint64_t)msf->num_blocks * msf->block_size;
    if (msf->num_blocks < 2) {
        return damaged_msf(error, size, "number of blocks", 40,
                           msf->num_blocks);
    }
    if (need > msf->size) {
        snprintf(error, size,
                 "is truncated: it has %llu bytes and its header says %llu",
                 (unsigned long long)msf->size, (unsigned long long)need);
        return MSF_TRUNCATED;
    }
    return MSF_OK;
}

/* Returns the number of block i of the directory, from its block map. */
static uint32_t directory_block(const struct msf *msf, uint32_t i)
{
    uint32_t per_block;
    const uint8_t *map;

    per_block = msf->block_size / 4;
    map = msf_block(msf, le32(msf->data + MAP_OFFSET + 4 * (i / per_block)),
                    4 * (i % per_block) + 4);
    return map == NULL ? 0 : le32(map + 4 * (i % per_block));
}

static enum msf_status read_directory(struct msf *msf, uint32_t *dir_bytes,
                                      char *error, size_t size)
{
    int contiguous;
    uint32_t i, bytes, blocks, maps, first, block, len;
    const uint8_t *p;

    bytes = le32(msf->data + 44);
    blocks =
        (uint32_t)(((uint64_t)bytes + msf->block_size - 1) / msf->block_size);
    maps = (uint32_t)((4 * (uint64_t)blocks + msf->block_size - 1) /
                      msf->block_size);
    if (bytes < 4 || bytes > MAX_DIRECTORY || blocks >= msf->num_blocks ||
        MAP_OFFSET + 4 * (uint64_t)maps > msf->block_size) {
        return damaged_msf(error, size, "directory size", 44, bytes);
    }
    first = directory_block(msf, 0);
    contiguous = 1;
    for (i = 0; i < blocks; i++) {
        block = directory_block(msf, i);
        len = i + 1 < blocks ? msf->block_size : bytes - i * msf->block_size;
        if (msf_block(msf, block, len) == NULL) {
            return damaged_msf(error, size, "directory block outside the file",
                               i, block);
        }
        contiguous &= block == first + i;
    }
    *dir_bytes = bytes;
    if (contiguous) {
        msf->dir = msf->data + (uint64_t)first * msf->block_size;
        return MSF_OK;
    }
    msf->dir_copy = malloc(bytes);
    if (msf->dir_copy == NULL) {
        snprintf(error, size, "needs more memory than there is");
        return MSF_NO_MEMORY;
    }
    for (i = 0; i < blocks; i++) {
        len = i + 1 < blocks ? msf->block_size : bytes - i * msf->block_size;
        p = msf_block(msf, directory_block(msf, i), len);
        memcpy(msf->dir_copy + (size_t)i * msf->block_size, p, len);
    }
    msf->dir = msf->dir_copy;
    return MSF_OK;
}

static enum msf_status read_msf_streams(struct msf *msf, uint32_t bytes,
                                        char *error, size_t size)
{
    uint32_t i, n;
    uint64_t at, used;
    struct msf_stream *s;

    n = le32(msf->dir);
    if (n > (bytes - 4) / 4) {
        return damaged_msf(error, size, "number of streams", 0, n);
    }
    msf->streams = calloc(n > 0 ? n : 1, sizeof(*msf->streams));
    if (msf->streams == NULL) {
        snprintf(error, size, "needs more memory than there is");
        return MSF_NO_MEMORY;
    }
    msf->num_streams = n;
    at = 4 + 4 * (uint64_t)n;
    used = 0;
    for (i = 0; i < n; i++) {
        s = &msf->streams[i];
        s->size = le32(msf->dir + 4 + 4 * (size_t)i);
        s->exists = s->size != MSF_NIL_SIZE;
        if (!s->exists) {
            s->size = 0;
        }
        s->blocks = (uint32_t)(((uint64_t)s->size + msf->block_size - 1) /
                               msf->block_size);
        s->list = at;
        at += 4 * (uint64_t)s->blocks;
        if (at > bytes) {
            return damaged_msf(error, size,
                               "directory ends before the blocks of a stream",
                               i, s->size);
        }
        /* stream 0 is the previous directory: its blocks may be reused */
        used += i > 0 ? s->blocks : 0;
    }
    if (used > msf->num_blocks) {
        return damaged_msf(error, size,
                           "streams have more blocks than the file", used,
                           msf->num_blocks);
    }
    return MSF_OK;
}

enum msf_status msf_open(struct msf *msf, const uint8_t *data, size_t size,
                         char *error, size_t error_size)
{
    uint32_t bytes = 0;
    enum msf_status status;

    memset(msf, 0, sizeof(*msf));
    msf->data = data;
    msf->size = size;
    status = identify_msf(data, size, error, error_size);
    if (status == MSF_OK) {
        status = check_superblock(msf, error, error_size);
    }
    if (status == MSF_OK) {
        status = read_directory(msf, &bytes, error, error_size);
    }
    if (status == MSF_OK) {
        status = read_msf_streams(msf, bytes, error, error_size);
    }
    if (status != MSF_OK) {
        msf_close(msf);
    }
    return status;
}

void msf_close(struct msf *msf)
{
    free(msf->dir_copy);
    free(msf->streams);
    memset(msf, 0, sizeof(*msf));
}

uint32_t msf_stream_size(const struct msf *msf, uint32_t stream)
{
    return stream < msf->num_streams ? msf->streams[stream].size : 0;
}

bool msf_stream_exists(const struct msf *msf, uint32_t stream)
{
    return stream < msf->num_streams && msf->streams[stream].exists;
}

const uint8_t *msf_run(const struct msf *msf, uint32_t stream, uint32_t offset,
                       uint32_t want, uint32_t *len)
{
    uint32_t i, block, left, run, more;
    const uint8_t *list, *p;
    const struct msf_stream *s;

    p = msf_piece(msf, stream, offset, &run);
    if (p == NULL) {
        return NULL;
    }
    s = &msf->streams[stream];
    list = msf->dir + s->list;
    i = offset >> msf->block_shift;
    block = le32(list + 4 * (size_t)i);
    left = s->size - offset;
    while (run < want && run < left) {
        i++;
        block++;
        more = left - run < msf->block_size ? left - run : msf->block_size;
        if (le32(list + 4 * (size_t)i) != block ||
            msf_block(msf, block, more) == NULL) {
            break;
        }
        run += more;
    }
    *len = run;
    return p;
}

/* Grows the buffer to at least size bytes.  Returns 0 or -1. */
static int buffer_need(struct msf_buffer *buffer, size_t size)
{
    size_t grown;
    uint8_t *data;

    if (size <= buffer->size) {
        return 0;
    }
    grown = buffer->size + buffer->size / 2;
    grown = grown > size ? grown : size;
    /* the old content is not needed, so do not let realloc() copy it */
    free(buffer->data);
    data = malloc(grown);
    buffer->data = data;
    buffer->size = data == NULL ? 0 : grown;
    return data == NULL ? -1 : 0;
}

void msf_buffer_free(struct msf_buffer *buffer)
{
    free(buffer->data);
    buffer->data = NULL;
    buffer->size = 0;
}

int msf_copy(const struct msf *msf, uint32_t stream, uint32_t offset,
             uint32_t len, uint8_t *to)
{
    uint32_t run, done;
    const uint8_t *p;

    for (done = 0; done < len; done += run) {
        p = msf_run(msf, stream, offset + done, len - done, &run);
        if (p == NULL) {
            return -1;
        }
        run = run < len - done ? run : len - done;
        memcpy(to + done, p, run);
    }
    return 0;
}

const uint8_t *msf_view(const struct msf *msf, uint32_t stream,
                        uint32_t offset, uint32_t len,
                        struct msf_buffer *buffer)
{
    uint32_t run, total;
    const uint8_t *p;
    static const uint8_t nothing[1];

    total = msf_stream_size(msf, stream);
    if (offset > total || len > total - offset) {
        return NULL;
    }
    if (len == 0) {
        return nothing;
    }
    p = msf_run(msf, stream, offset, len, &run);
    if (p == NULL || run >= len) {
        return p;
    }
    if (buffer_need(buffer, len) != 0 ||
        msf_copy(msf, stream, offset, len, buffer->data) != 0) {
        return NULL;
    }
    return buffer->data;
}
