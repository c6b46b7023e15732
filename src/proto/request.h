
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The file that a client of the cache asks for, by the path of its request.
 * Requests of debuggers to a symbol server are read by symbol_path.h, into the
 * same type.  Pure functions on (pointer, length): no I/O, no allocation, no
 * globals.
 */


#ifndef _SYMCACHE_REQUEST_H_INCLUDED_
#define _SYMCACHE_REQUEST_H_INCLUDED_


#include <stddef.h>
#include "key.h"
#include "version.h"


/*
 * What a client asked for: v<major>.<minor>.<patch>/<name>/<GUID>[/<age>], and
 * "ppdb/" in front of it for a PpdbCache.  Of that the age 1, as without one,
 * is FFFFFFFF: both are ages of a portable PDB.
 */
typedef struct {
    symcache_version_t   version;
    const char          *name;   /* the key's in the client's own case: a part
                                    of the path, key.name_len bytes */
    symcache_key_t       key;    /* last: may be allocated in part */
} symcache_request_t;


/*
 * Reads a decoded request path that follows the location, with or without a
 * slash at the beginning and at the end.  On an error *req is undefined.
 */
symcache_status_e symcache_request_parse(const char *p, size_t len,
    symcache_request_t *req);


#endif /* _SYMCACHE_REQUEST_H_INCLUDED_ */
