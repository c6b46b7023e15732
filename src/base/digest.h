/*
 * Copyright (C) the ngx_symcache authors
 *
 * SHA-256: of what comes from a server, and of a file in the store, where
 * nginx finds it.  Texts are those of proto/digest.h.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include "proto/digest.h"

struct digest; /* of bytes that come one after the other */

/* NULL when out of memory, which the others take for no digest. */
struct digest *digest_new(void);
void digest_add(struct digest *digest, const void *data, size_t len);

/* Of all bytes; none can be added any more. */
void digest_text(struct digest *digest, char text[SYMCACHE_DIGEST_TEXT + 1]);

void digest_free(struct digest *digest);

/*
 * Leaves the digest with a file that has those bytes, as an extended
 * attribute, and frees it.  It is not believed there until it is sealed.  Where
 * the file system has no attributes, or something fails, there is none.
 */
void digest_note(int fd, struct digest *digest);

/* The file is in its place: from now on no change goes unnoticed. */
void digest_seal(int fd);
void digest_seal_path(const char *path);

/*
 * Before something else than the content is changed, such as the times.
 * Returns whether the digest is to be sealed again then: not one whose seal
 * was broken.
 */
bool digest_unseal_path(const char *path);

#endif
