/*
 * Copyright (C) the ngx_symcache authors
 *
 * Detects what an upstream has sent by its first bytes, never by its name or
 * type.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

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

/*
 * Looks at the first BODY_HEAD bytes, or at all if there are fewer.  *what is
 * set to an English name of the kind, such as "an HTML page".
 */
enum body_kind body_sniff(const uint8_t *head, size_t len, const char **what);
