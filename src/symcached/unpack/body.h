/*
 * Copyright (C) the ngx_symcache authors
 *
 * What an upstream sent: told by its first bytes, never by its name or type,
 * and unpacked by one level from one descriptor to another.  Runs inside the
 * sandbox: opens nothing.
 */
#ifndef SYMCACHED_UNPACK_BODY_H
#define SYMCACHED_UNPACK_BODY_H

#include <stddef.h>
#include <stdint.h>
#include "symcached/space/space.h"

/* enough for body_sniff() */
#define BODY_HEAD 64

enum body_kind {
    BODY_PDB,
    BODY_BREAKPAD,
    BODY_CABINET,
    BODY_GZIP,
    BODY_ZLIB,
    BODY_ZSTD,
    BODY_OTHER /* nothing that can become an original */
};

enum body_status {
    BODY_OK,
    BODY_BAD,   /* the body's fault: damaged, too large */
    BODY_SYSTEM /* ours: disk full, read error, out of memory */
};

/*
 * head: the first BODY_HEAD bytes, or all if there are fewer.  *what is set
 * to an English name of the kind ("an HTML page").
 */
enum body_kind body_sniff(const uint8_t *head, size_t len, const char **what);

/*
 * Unpacks a body of a packed kind from `in` (from its start) to the sink.  On
 * a failure error holds a sentence.
 */
enum body_status body_unpack(enum body_kind kind, int in, struct sink *sink,
                             char *error, size_t size);

enum body_status body_copy(int in, struct sink *sink, char *error,
                           size_t size);

#endif
