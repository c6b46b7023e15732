
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Decides how a request is answered, from what is on disk and from what can be
 * made.  The module and the helper use the same function, so they cannot
 * disagree.
 *
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */

#ifndef _SYMCACHE_ANSWER_H_INCLUDED_
#define _SYMCACHE_ANSWER_H_INCLUDED_

#include <stddef.h>
#include "version.h"

typedef struct {
    symcache_version_t   version;      /* the client asked for */
    symcache_version_t   min;          /* symcache_min_version */
    symcache_version_t   exceeds;      /* valid if has_exceeds */
    unsigned             has_exceeds:1;
    unsigned             reads_file:1; /* itself, and does not send it */
} symcache_ask_t;

typedef enum {
    SYMCACHE_ANSWER_HIT = 0,     /* send the best file */
    SYMCACHE_ANSWER_STALE,       /* send the best file, make a newer one */
    SYMCACHE_ANSWER_NOT_MODIFIED,
    SYMCACHE_ANSWER_MAKE,        /* nothing on disk will do, but a newer
                                    version can be made */
    SYMCACHE_ANSWER_NONE         /* nothing on disk will do, and nothing
                                    here makes a version that this client
                                    reads */
} symcache_answer_e;

/*
 * Reads the version of If-Version-Exceeds, or of exceeds= to the helper.
 * Returns 1 and sets exceeds; or 0 if the answer must be 400: the value is not
 * a version, or it is not below the version that is asked for.  The caller
 * refuses a second header line, and one with the major number 0.
 */
int symcache_answer_exceeds(const char *p, size_t len, symcache_ask_t *ask);

/*
 * best: the highest version on disk that serves this client, or NULL.
 * made: the highest version that a transcoder makes and that serves this
 * client, or NULL.  Both come from symcache_version_best().
 */
symcache_answer_e symcache_answer(const symcache_ask_t *ask,
    const symcache_version_t *best, const symcache_version_t *made);

#endif /* _SYMCACHE_ANSWER_H_INCLUDED_ */
