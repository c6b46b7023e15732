/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is known of the object of a file of the store: when it was stored, and
 * its ETag.  It is kept in an extended attribute of the file, so that another
 * file in its place is not taken for it.  Where the file system has no such
 * attributes, nothing is known, and each hour in which the file is used is a
 * reason to store it, if it is not there.
 */
#ifndef SYMCACHED_TIER_NOTE_H
#define SYMCACHED_TIER_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* stored is in seconds since 1970; etag may be "". */
void tier_note_write(const char *file, int64_t stored, const char *etag);

/* Returns false if nothing is known. */
bool tier_note_read(const char *file, int64_t *stored, char *etag,
                    size_t size);

#endif
