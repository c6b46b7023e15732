
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Ids by which Elastic's profiler and OpenTelemetry's know an executable: 16
 * bytes of a hash, written in base64url.  In keys they are hash- ids.
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */


#ifndef _SYMCACHE_PROFILER_ID_H_INCLUDED_
#define _SYMCACHE_PROFILER_ID_H_INCLUDED_


#include <stddef.h>
#include "key.h"


#define SYMCACHE_PROFILER_ID_SIZE  16
#define SYMCACHE_PROFILER_ID_TEXT  22    /* without a NUL */


/*
 * Reads 22 characters of base64url, perhaps followed by "==".  Returns 1, and
 * sets name, kind and id of the key to those of the symbfile; or 0.
 */
int symcache_profiler_id_parse(const char *p, size_t len, symcache_key_t *key);

/* Writes the text of a key that has such an id, with a NUL. */
void symcache_profiler_id_print(char buf[SYMCACHE_PROFILER_ID_TEXT + 1],
    const symcache_key_t *key);


#endif /* _SYMCACHE_PROFILER_ID_H_INCLUDED_ */
