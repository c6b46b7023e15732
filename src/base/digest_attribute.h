/*
 * Copyright (C) the ngx_symcache authors
 *
 * Digests of files in the store, where nginx reads them from an extended
 * attribute.
 *
 * To seal a digest means to store the mtime and ctime of its file with it.
 * It is believed as long as they show that the file was not changed since.
 */
#pragma once

#include <stdbool.h>
#include "digest.h"

/*
 * Stores the digest in an extended attribute of the file that has those bytes,
 * and frees it.  It is not believed until it is sealed.  Errors are ignored:
 * where the file system has no attributes, the file has no digest.
 */
void digest_note(int fd, struct digest *digest);

/* The same of a digest whose text is known already. */
void digest_note_text(int fd, const char text[SYMCACHE_DIGEST_TEXT + 1]);

/*
 * Seals the digest when the file has its final name and times, if there is a
 * digest that is not sealed.  Any later change to the file breaks the seal.
 */
void digest_seal(int fd);
void digest_seal_path(const char *path);

/* Has the file a digest that is believed?  Then it is written into text. */
bool digest_sealed(int fd, char text[SYMCACHE_DIGEST_TEXT + 1]);

/* The same as bytes. */
#define DIGEST_SIZE 32
bool digest_of_file(int fd, uint8_t digest[DIGEST_SIZE]);

/* Does a file lack a digest that it could have?  Not where the file system has
 * none, and not if the file was changed since it was sealed. */
bool digest_lacks_path(const char *path);

/*
 * Removes the seal before something other than the content is changed, such
 * as the times.  Returns whether the caller must seal the digest again
 * afterwards; a seal that was already broken is left as it is.
 */
bool digest_unseal_path(const char *path);
