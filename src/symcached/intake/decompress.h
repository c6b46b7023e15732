/*
 * Copyright (C) the ngx_symcache authors
 *
 * One level of packing, from one descriptor to another.  This runs inside the
 * sandbox and opens nothing.
 */
#pragma once

#include <stddef.h>
#include "body_kind.h"
#include "symcached/space/space.h"

enum body_status {
    BODY_OK,
    BODY_BAD,        /* the fault of the body: damaged, too large */
    BODY_UNREADABLE, /* sound, perhaps, but of a kind that is not read */
    BODY_SYSTEM      /* ours: disk full, read error, out of memory */
};

struct cabinet_parts;

/*
 * Decompresses a body of a packed kind from `in`, beginning with its first
 * byte, to the writer.  parts are those of a cabinet, see cabinet.h, or NULL.
 * On failure, error contains a sentence.
 */
enum body_status decompress(enum body_kind kind, int in,
                            const struct cabinet_parts *parts,
                            struct limited_writer *writer, char *error,
                            size_t size);

/* Copies all of `in`, from its start, to the writer. */
enum body_status body_copy(int in, struct limited_writer *writer, char *error,
                           size_t size);
