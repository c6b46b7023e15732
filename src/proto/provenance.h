
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where the original of a file in the store came from, in an extended
 * attribute of the file:
 *
 *   <source> full|publics <seconds since 1970>
 *
 * A source that is a part of a symbol path is <name>.<number>.  Where the file
 * system has no such attributes nothing is known.
 */


#ifndef _SYMCACHE_PROVENANCE_H_INCLUDED_
#define _SYMCACHE_PROVENANCE_H_INCLUDED_


#define SYMCACHE_PROVENANCE_ATTRIBUTE  "user.symcached.source"

/* of a source, without a NUL */
#define SYMCACHE_PROVENANCE_SOURCE     96

/* of the whole text, without a NUL */
#define SYMCACHE_PROVENANCE_TEXT       (SYMCACHE_PROVENANCE_SOURCE + 64)


#endif /* _SYMCACHE_PROVENANCE_H_INCLUDED_ */
