/*
 * Copyright (C) the ngx_symcache authors
 *
 * The body of a request, unpacked piece by piece.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>
#include <zstd.h>

enum input_coding { INPUT_PLAIN, INPUT_GZIP, INPUT_ZSTD, INPUT_OTHER };

struct input {
    char *data; /* from at to size is what is to be read; it may be changed */
    size_t at;
    size_t size;
    const char *error; /* static: it cannot be read on; or NULL */
    enum input_coding coding;
    const char *packed; /* what is still to be unpacked */
    size_t packed_size;
    uint64_t left; /* bytes that it may still become */
    size_t room;   /* of data, which is ours if something is packed */
    z_stream gzip;
    ZSTD_DCtx *zstd;
    bool is_begun; /* a member or frame that has not ended */
};

/* The coding of a Content-Encoding, which may be NULL. */
enum input_coding input_coding(const char *name);

/*
 * Begins to read a body, which stays the caller's, may be changed, and may
 * become at most so many bytes.  Returns 0, or -1 without memory.
 */
int input_begin(struct input *input, enum input_coding coding, char *body,
                size_t size, uint64_t most);

/*
 * Unpacks some more after what is there; data may move, and what was read of
 * it goes.  Returns false if there is no more, or with an error.
 */
bool input_more(struct input *input);

void input_end(struct input *input);
