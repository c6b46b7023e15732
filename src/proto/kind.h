
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Kinds of files that the cache has, a part of their keys (key.h).
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */


#ifndef _SYMCACHE_KIND_H_INCLUDED_
#define _SYMCACHE_KIND_H_INCLUDED_


#include <stddef.h>


/* The longest text of a kind, without a NUL. */
#define SYMCACHE_KIND_TEXT_MAX  12


/*
 * Kinds of artefacts.  The text of a kind is the suffix of its files, and a
 * part of the helper's paths, where it must differ from the names of pages.
 */

typedef enum {
    SYMCACHE_KIND_SYMCACHE = 0,  /* "symcache" */
    SYMCACHE_KIND_PPDBCACHE,     /* "ppdbcache": of a portable PDB */
    SYMCACHE_KIND_CFICACHE,      /* "cficache": unwind information */
    SYMCACHE_KIND_SYM,           /* "sym": the text of Breakpad */
    SYMCACHE_KIND_DEBUGINFO,     /* "debuginfo": an original file: a PDB, an
                                    ELF debug file, a dSYM */
    SYMCACHE_KIND_EXECUTABLE,    /* "executable": an original file */
    SYMCACHE_KIND_SOURCEBUNDLE,  /* "sourcebundle" */
    SYMCACHE_KIND_SOURCE,        /* "source": a file of source code; the path
                                    is the name (symbol_path.h) */
    SYMCACHE_KIND_SECTION,       /* "section": of an ELF file, by its name */
    SYMCACHE_KINDS
} symcache_kind_e;


/* Returns 1 and sets *kind, or 0 if no kind has this text. */
int symcache_kind_parse(const char *p, size_t len, symcache_kind_e *kind);

/* The text of a kind. */
const char *symcache_kind_text(symcache_kind_e kind);

/*
 * Returns 1 if files of this kind are made and stored.  The other ones are only
 * defined so far, and the helper refuses them.
 */
int symcache_kind_supported(symcache_kind_e kind);

/* Returns 1 if files of this kind are originals, of which nothing is made. */
int symcache_kind_is_original(symcache_kind_e kind);

/*
 * Returns 1 if files of this kind are debug information, or made of it: all
 * kinds of one name and id come from one original then.
 */
int symcache_kind_is_debuginfo(symcache_kind_e kind);


#endif /* _SYMCACHE_KIND_H_INCLUDED_ */
