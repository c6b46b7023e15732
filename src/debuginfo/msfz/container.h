/*
 * Copyright (C) the ngx_symcache authors
 *
 * The tables of a container: what chunks it has, and of which parts of them
 * its streams are made.
 */
#pragma once

#include "msfz.h"

#define MSFZ_CHUNK_MAX (256u << 20) /* bytes, expanded */
#define MSFZ_NIL 0xFFFFFFFFu

struct msfz_chunk {
    uint64_t offset; /* in the file */
    uint64_t begin;  /* of its content among that of all chunks */
    uint32_t packed; /* bytes in the file */
    uint32_t size;   /* bytes, expanded */
    uint32_t compression;
};

/* A part of a stream that lies in one piece in the file, or among the content
 * of all chunks. */
struct msfz_fragment {
    uint64_t at;        /* there */
    uint64_t in_stream; /* its offset in the stream */
    uint32_t stream;
    uint32_t size;
};

struct msfz_container {
    struct msfz_chunk *chunks;
    uint32_t num_chunks;
    uint32_t num_streams;
    uint32_t *sizes; /* of the streams; MSFZ_NIL: a nil stream */
    struct msfz_fragment *plain, *packed; /* in the file, in chunks: sorted */
    size_t num_plain, num_packed;
};

/* Reads and checks the tables.  The caller calls msfz_container_free(), even
 * after an error. */
enum msfz_status msfz_container_read(struct msfz_container *container,
                                     const struct msfz_io *io, char *error,
                                     size_t error_size);
void msfz_container_free(struct msfz_container *container);

/* Unpacks packed bytes to exactly size bytes. */
enum msfz_status msfz_unpack(uint32_t compression, const uint8_t *packed,
                             size_t packed_size, uint8_t *to, size_t size,
                             char *error, size_t error_size);

/* Sets the sentence and returns the status. */
enum msfz_status msfz_fail(enum msfz_status status, char *error, size_t size,
                           const char *format, ...)
    __attribute__((format(printf, 4, 5)));
