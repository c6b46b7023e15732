/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the MSF 7.0 container of a PDB: numbered streams made of blocks that
 * may be anywhere in the file.  The whole file must be in memory or in a
 * mapping.  Data is copied only if it is wanted in one piece and is scattered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/le.h"

#define MSF_NO_STREAM 0xFFFFu
#define MSF_NIL_SIZE 0xFFFFFFFFu

enum msf_status {
    MSF_OK = 0,
    MSF_NOT_PDB,   /* another kind of file, or an empty one */
    MSF_PORTABLE,  /* .NET portable PDB */
    MSF_PDB2,      /* PDB 2.0, Visual C++ 6 and older */
    MSF_MSFZ,      /* compressed container (PDZ) */
    MSF_TRUNCATED, /* a PDB 7.0 with fewer bytes than it says it has */
    MSF_DAMAGED,   /* a PDB 7.0 that is inconsistent */
    MSF_NO_MEMORY
};

struct msf_stream {
    uint32_t size;   /* bytes; a nil stream has 0 */
    uint32_t blocks; /* number of blocks */
    uint32_t exists; /* 0 for a nil stream */
    uint64_t list;   /* offset of its block numbers in the directory */
};

struct msf {
    const uint8_t *data; /* the whole file */
    uint64_t size;
    uint32_t block_size;
    unsigned block_shift; /* binary logarithm of block_size */
    uint32_t num_blocks;
    uint32_t num_streams;
    const uint8_t *dir; /* stream directory, in the file or in dir_copy */
    uint8_t *dir_copy;
    struct msf_stream *streams;
};

/* Reusable memory for copies of data that is scattered in the file.  Must be
 * all zero at the beginning; the caller frees it with msf_buffer_free(). */
struct msf_buffer {
    uint8_t *data;
    size_t size;
};

/* Does a file that begins like this have the container of a PDB 7.0? */
bool msf_sniff(const uint8_t *data, size_t size);

/*
 * Checks superblock, directory and stream table.  On success the caller must
 * call msf_close() at the end.  On failure it need not, and error says what
 * other kind of file it is, or where it is damaged.
 */
enum msf_status msf_open(struct msf *msf, const uint8_t *data, size_t size,
                         char *error, size_t error_size);
void msf_close(struct msf *msf);

/* Returns the size of a stream in bytes; 0 if it does not exist. */
uint32_t msf_stream_size(const struct msf *msf, uint32_t stream);

/* Returns false for a nil stream, and for a number that has no stream. */
bool msf_stream_exists(const struct msf *msf, uint32_t stream);

/* Returns the first len bytes of a block, or NULL if they are not inside the
 * file. */
static inline const uint8_t *msf_block(const struct msf *msf, uint32_t block,
                                       uint32_t len)
{
    uint64_t at;

    at = (uint64_t)block << msf->block_shift;
    if (block == 0 || block >= msf->num_blocks || at + len > msf->size) {
        return NULL;
    }
    return msf->data + at;
}

/* Returns the data of the stream from offset to the end of the block there.
 * This is msf_run() for a single block. */
static inline const uint8_t *msf_piece(const struct msf *msf, uint32_t stream,
                                       uint32_t offset, uint32_t *len)
{
    uint32_t block, in_block, left, run;
    const uint8_t *p;
    const struct msf_stream *s;

    if (stream >= msf->num_streams || offset >= msf->streams[stream].size) {
        return NULL;
    }
    s = &msf->streams[stream];
    in_block = offset & (msf->block_size - 1);
    left = s->size - offset;
    run = msf->block_size - in_block;
    run = run < left ? run : left;
    block =
        le32(msf->dir + s->list + 4 * (size_t)(offset >> msf->block_shift));
    p = msf_block(msf, block, in_block + run);
    *len = run;
    return p == NULL ? NULL : p + in_block;
}

/*
 * Returns data of the stream from offset on that is contiguous in the file: at
 * least `want` bytes if that many are, and at most to the end of the stream.
 * *len becomes its length, which is at least 1.  Returns NULL if the offset is
 * not inside the stream, or the block there is not inside the file.
 */
const uint8_t *msf_run(const struct msf *msf, uint32_t stream, uint32_t offset,
                       uint32_t want, uint32_t *len);

/*
 * Returns len bytes of the stream in one piece: in the file if they are
 * contiguous there, else copied into *buffer, and then valid until its next
 * use.  Returns NULL if the range is not inside the stream, a block is not
 * inside the file, or memory runs out.  For a range of 0 bytes it returns a
 * pointer that must not be read from.
 */
const uint8_t *msf_view(const struct msf *msf, uint32_t stream,
                        uint32_t offset, uint32_t len,
                        struct msf_buffer *buffer);

/* Copies len bytes of the stream.  Returns 0, or -1 where msf_view() returns
 * NULL. */
int msf_copy(const struct msf *msf, uint32_t stream, uint32_t offset,
             uint32_t len, uint8_t *to);

void msf_buffer_free(struct msf_buffer *buffer);
