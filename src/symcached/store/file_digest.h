/*
 * Copyright (C) the ngx_symcache authors
 *
 * The digests of files that are published, which nginx sends to clients that
 * want them.  A client that is served at once needs it before the file has its
 * name.  If no such client waits, one thread computes it afterwards at low
 * priority: without instructions for SHA-256, a digest takes a quarter of the
 * time of the conversion.
 */
#pragma once

#include <stdbool.h>

/* Notes the digest of all that a file contains, from the place where its
 * descriptor is.  It is not sealed. */
void file_digest_note(int fd);

/* Do so few files wait that others may? */
bool file_digest_may_wait(void);

/* Has the digest of a published file noted and sealed, soon.  If the process is
 * killed first, store_touch() finds later that the file lacks it. */
void file_digest_later(const char *path);

/* Gives those that wait so many milliseconds, and ends the thread's work.  For
 * use after the loop's end. */
void file_digest_settle(unsigned ms);
