/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reports the digest of the file stored under a path, so that a client need
 * not send it again.
 */
#ifndef SYMCACHED_UPLOAD_STORED_DIGEST_H
#define SYMCACHED_UPLOAD_STORED_DIGEST_H

#include <stdint.h>

struct event_base;

/* digest: as in proto/digest.h; NULL: there is no such file, or the disk does
 * not give it. */
typedef void (*stored_digest_done_fn)(void *arg, const char *digest,
                                      uint64_t size);

/*
 * Reads a file in a thread, unless its digest is noted; that counts as a use of
 * it.  done is called once, never from inside this function, and arg is freed
 * behind it.  Returns 0, or an errno, when arg stays the caller's: EBUSY where
 * enough files are read.
 */
int stored_digest_start(struct event_base *base, const char *path,
                        stored_digest_done_fn done, void *arg);

#endif
