
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where the original of a file in the store came from, in an extended
 * attribute of the file:
 *
 *   <source> full|publics|program <seconds since 1970> <features>
 *
 * The features are a hexadecimal set of SYMCACHE_HAS_..., 0 if not known, and
 * missing in files of former versions.
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


/* How much was in the original. */
typedef enum {
    SYMCACHE_EXTENT_FULL = 0,
    SYMCACHE_EXTENT_PUBLICS, /* public symbols, or a symbol table only */
    SYMCACHE_EXTENT_PROGRAM  /* the same, of a program: its debug file may
                                 come yet */
} symcache_extent_e;


#endif /* _SYMCACHE_PROVENANCE_H_INCLUDED_ */
