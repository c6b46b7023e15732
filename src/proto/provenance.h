
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where the original of a file in the store came from, in an extended
 * attribute of the file:
 *
 *   <source> full|publics|program <seconds since 1970> <features> <builder>
 *       [incomplete]
 *
 * The features are a hexadecimal set of SYMCACHE_HAS_..., 0 if not known; the
 * builder is SYMCACHE_BUILDER of the converter that made the file, 0 if another
 * program did.  Both are missing in files of former versions.  An incomplete
 * file lacks names or lines of another original, which was not to be had.
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


/*
 * Rises when pdb2symcache writes files of the same versions better than before:
 * files of a lower one are made anew when they are used.
 */
#define SYMCACHE_BUILDER               4

/* How much was in the original. */
typedef enum {
    SYMCACHE_EXTENT_FULL = 0,
    SYMCACHE_EXTENT_PUBLICS, /* public symbols, or a symbol table only */
    SYMCACHE_EXTENT_PROGRAM  /* the same, of a program: its debug file may
                                 come yet */
} symcache_extent_e;


/*
 * Where the original was looked for, in another attribute: the member
 * "attempts" of the page /v1/why, as an object that has nothing else.  If it
 * does not fit, it is left out as a whole.
 */

#define SYMCACHE_PLACES_ATTRIBUTE      "user.symcached.places"
#define SYMCACHE_PLACES_MAX            2048


#endif /* _SYMCACHE_PROVENANCE_H_INCLUDED_ */
