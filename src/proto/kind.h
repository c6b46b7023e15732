
/*
 * Copyright (C) the ngx_symcache authors
 *
 * Kinds of files that the cache has, a part of their keys (key.h).
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */


#ifndef _SYMCACHE_KIND_H_INCLUDED_
#define _SYMCACHE_KIND_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>


/* The longest text of a kind, without a NUL. */
#define SYMCACHE_KIND_TEXT_MAX  13


/* The contents of an original: a set. */

#define SYMCACHE_HAS_DEBUG    0x01    /* types, lines, inlined functions */
#define SYMCACHE_HAS_SYMBOLS  0x02
#define SYMCACHE_HAS_UNWIND   0x04    /* how a caller's frame is found */
#define SYMCACHE_HAS_SOURCES  0x08    /* texts of source files */
#define SYMCACHE_HAS_CODE     0x10
#define SYMCACHE_HAS_LINKS    0x20    /* it says where source files are: of a
                                         Windows PDB, of which nothing else
                                         may be known */


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
    SYMCACHE_KIND_SOURCEBUNDLE,  /* "sourcebundle": an archive of source files
                                    with a manifest */
    SYMCACHE_KIND_SOURCE,        /* "source": a file of source code; the path
                                    is the name (symbol_path.h) */
    SYMCACHE_KIND_SECTION,       /* "section": of an ELF file, by its name */
    SYMCACHE_KIND_SYMBFILE,      /* "symbfile": names of an executable that a
                                    profiler knows by a hash */
    SYMCACHE_KIND_JSCACHE,       /* "jscache": of a script and its map */
    SYMCACHE_KIND_MSFZ,          /* "msfz": the compressed PDB of which that
                                    beside it was expanded */
    SYMCACHE_KIND_UUIDMAP,       /* "uuidmap": of a dSYM made of bitcode, which
                                    has the id of its symbol map */
    SYMCACHE_KIND_BCSYMBOLMAP,   /* "bcsymbolmap": the names that Apple hides in
                                    builds from bitcode */
    SYMCACHE_KIND_IL2CPP,        /* "il2cpp": lines of C# for those of the C++
                                    that Unity makes of it */
    SYMCACHE_KIND_DWP,           /* "dwp": a package of split DWARF */
    SYMCACHE_KIND_SOURCECACHE,   /* "sourcecache": texts of source files */
    SYMCACHE_KIND_BREAKPAD,      /* "breakpad": Breakpad's text, made of an
                                    original; "sym" is one that a source has */
    SYMCACHE_KIND_MAPPING,       /* "mapping": of ProGuard or R8 */
    SYMCACHE_KIND_PROGUARDCACHE, /* "proguardcache": of a mapping */
    SYMCACHE_KIND_FILE,          /* "file": of which a symbol server's path is
                                    all that is known (symbol_path.h) */
    SYMCACHE_KIND_CODECACHE,     /* "codecache": the machine code of a program
                                    */
    SYMCACHE_KIND_CABINET,       /* "cabinet": crash.pd_, app.ex_, as a source
                                    has it */
    SYMCACHE_KIND_GZIP,          /* "gzip": crash.pdb.gz, app.exe.gz */
    SYMCACHE_KIND_SYMGZIP,       /* "symgzip": crash.sym.gz */
    SYMCACHE_KINDS
} symcache_kind_e;


/* The properties of a kind: one row, and they are defined nowhere else. */

typedef struct {
    const char  *text;
    size_t       len;          /* of text */

    /*
     * A bit 1 << symcache_id_e for each type of id by which files of the kind
     * are made or kept.  None: the kind is only reserved, and refused.
     */
    unsigned     ids;

    /*
     * The end of the name that an original has among the downloads (path.h),
     * or a derived file that is served as one; NULL: files of the kind lie in
     * the store.
     */
    const char  *end;

    /*
     * DERIVED: the kinds of originals that a file is made of, the best first;
     * ends with SYMCACHE_KINDS.
     */
    uint8_t      slots[5];

    /*
     * DERIVED: what an original must have, at least one of them, a set of
     * SYMCACHE_HAS_...; one that has not is of no use.
     */
    unsigned     needs;

    /*
     * Debug information, or made of it: all such kinds of one name and id are
     * looked for by one job at a time.
     */
    unsigned     debuginfo:1;
} symcache_kind_t;


/* Others take a row by symcache_kind(). */
extern const symcache_kind_t  symcache_kinds[];

/* The row of a kind. */
static inline const symcache_kind_t *
symcache_kind(symcache_kind_e kind)
{
    return &symcache_kinds[kind];
}

/* Returns 1 and sets *kind, or 0 if no kind has this text. */
int symcache_kind_parse(const char *p, size_t len, symcache_kind_e *kind);

/* The text of a kind. */
const char *symcache_kind_text(symcache_kind_e kind);

/*
 * Returns 1 if files of this kind are made or kept.  The other ones are only
 * reserved, and the helper refuses them.
 */
int symcache_kind_supported(symcache_kind_e kind);

/* Returns 1 if files of this kind are originals, of which nothing is made. */
int symcache_kind_is_original(symcache_kind_e kind);

/*
 * Returns 1 if files of this kind have names or lines of another file, or say
 * what these are.  The name in their keys is the text of the kind.
 */
int symcache_kind_is_auxiliary(symcache_kind_e kind);

/* Returns 1 if files of this kind are packed, and kept as a source has them. */
int symcache_kind_is_packed(symcache_kind_e kind);

/* Returns 1 if files of this kind are debug information, or made of it. */
int symcache_kind_is_debuginfo(symcache_kind_e kind);


#endif /* _SYMCACHE_KIND_H_INCLUDED_ */
