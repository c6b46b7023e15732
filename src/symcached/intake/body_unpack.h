/*
 * Copyright (C) the ngx_symcache authors
 *
 * Detects what an upstream has sent by its first bytes, never by its name or
 * type, and unpacks one level of packing from one descriptor to another.  This
 * runs inside the sandbox and opens nothing.
 */
#ifndef SYMCACHED_INTAKE_BODY_UNPACK_H
#define SYMCACHED_INTAKE_BODY_UNPACK_H

#include <stddef.h>
#include <stdint.h>
#include "symcached/space/space.h"

/* The name of a body of none of these kinds. */
#define BODY_UNKNOWN "no debug file of a known format"

/* Bytes that body_sniff() needs. */
#define BODY_HEAD 64

enum body_kind {
    BODY_CABINET,
    BODY_GZIP,
    BODY_ZLIB,
    BODY_ZSTD,
    BODY_MSFZ,    /* a compressed PDB */
    BODY_OTHER,   /* nothing that can become an original */
    BODY_FOREIGN, /* the same, but a debug file or an archive all the same */
    BODY_ORIGINAL /* this, and more, by the number of its original_format */
};

enum body_status {
    BODY_OK,
    BODY_BAD,        /* the fault of the body: damaged, too large */
    BODY_UNREADABLE, /* sound, perhaps, but of a kind that is not read */
    BODY_SYSTEM      /* ours: disk full, read error, out of memory */
};

struct cabinet_parts;

/*
 * Looks at the first BODY_HEAD bytes, or at all if there are fewer.  *what is
 * set to an English name of the kind, such as "an HTML page".
 */
enum body_kind body_sniff(const uint8_t *head, size_t len, const char **what);

/*
 * Unpacks a body of a packed kind from `in`, beginning with its first byte, to
 * the writer.  parts are those of a cabinet, see cabinet.h, or NULL.  On
 * failure, error contains a sentence.
 */
enum body_status body_unpack(enum body_kind kind, int in,
                             const struct cabinet_parts *parts,
                             struct limited_writer *writer, char *error,
                             size_t size);

/* Copies all of `in`, from its start, to the writer. */
enum body_status body_copy(int in, struct limited_writer *writer, char *error,
                           size_t size);

#endif
