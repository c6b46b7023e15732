/*
 * Copyright (C) the ngx_symcache authors
 *
 * SHA-256 digests of what a server sends.  The format of their texts is that
 * of proto/digest.h.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include "proto/digest.h"

struct digest; /* of bytes that are added piece by piece */

/*
 * Returns NULL when out of memory.  digest_add(), digest_note() and
 * digest_free() accept NULL, and do without a digest then.
 */
struct digest *digest_new(void);
void digest_add(struct digest *digest, const void *data, size_t len);

/* The digest of what is left of a file; NULL if it cannot be read, or *stops.
 * stops may be NULL. */
struct digest *digest_read(int fd, const atomic_bool *stops);

/* Writes the digest of all bytes that were added.  No more can be added. */
void digest_text(struct digest *digest, char text[SYMCACHE_DIGEST_TEXT + 1]);

/* The same as lower-case hex digits, with a NUL. */
#define DIGEST_HEX (2 * 32)
void digest_hex(struct digest *digest, char text[DIGEST_HEX + 1]);

void digest_free(struct digest *digest);
