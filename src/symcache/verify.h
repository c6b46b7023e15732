/*
 * Copyright (C) the ngx_symcache authors
 *
 * Whether a SymCache is what the format says, beyond what reading it needs:
 * the check of a file before it is published.
 */
#ifndef SYMCACHE_VERIFY_H
#define SYMCACHE_VERIFY_H

#include "reader.h"

enum symfile_verify_status {
    SYMFILE_SOUND = 0,
    SYMFILE_VIOLATED = -1,
    SYMFILE_NOT_VERIFIED = -2 /* no memory: a bit for each byte of strings */
};

/*
 * Checks header, padding, the string section as a sequence of whole strings,
 * every string reference and index, chains of callers (no loop, no gap), and
 * that ranges ascend strictly.  Takes time in proportion to the file.
 * error gets the first violation in that order and its place.
 */
enum symfile_verify_status symfile_verify(const struct symfile_reader *reader,
                                          char *error, size_t error_size);

#endif
