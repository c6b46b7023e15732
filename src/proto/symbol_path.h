
/*
 * Copyright (C) the ngx_symcache authors
 *
 * What debuggers ask a symbol server for:
 *
 *   <name>/<GUID><age>/<name>               debuginfo: a PDB
 *   <name>/<GUID><age>/msfz0/<name>         debuginfo: a PDB, compressed
 *   <name>/<GUID><age>/<stem>.sym           sym: Breakpad's text
 *   <name>/<GUID><age>/<stem>.sym.gz        symgzip: the same, packed
 *   <name>/<time stamp><size>/<name>        executable: a PE image
 *   <name>/<either id>/<nam>_               cabinet: a PDB or an image, packed;
 *                                           the last letter is replaced
 *   <name>/<either id>/<name>.gz            gzip: the same
 *   <name>/elf-buildid-<hex>/<name>         executable: ELF
 *   <name>/mach-uuid-<hex>/<name>           executable: Mach-O
 *   _.debug/elf-buildid-sym-<hex>/_.debug   debuginfo: ELF
 *   _.dwarf/mach-uuid-sym-<hex>/_.dwarf     debuginfo: Mach-O
 *   <name>/<word>-<hex>/<name>              file: "r2rmap-v1-", "sha1-" and
 *                                           what else sources have
 *   buildid/<hex>/debuginfo                 debuginfo, in debuginfod's way
 *   buildid/<hex>/executable                executable, in debuginfod's way
 *   buildid/<hex>/source/<path>             source, in debuginfod's way
 *   buildid/<hex>/section/<name>            section, in debuginfod's way
 *
 * All but the last four may follow a folder that is named by the first
 * characters of <name> (two tiers).  Letters have no case.  The forms are those
 * of symstore.exe, of SSQP, of Breakpad and of debuginfod's web API.
 *
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */

#ifndef _SYMCACHE_SYMBOL_PATH_H_INCLUDED_
#define _SYMCACHE_SYMBOL_PATH_H_INCLUDED_

#include <stddef.h>
#include "request.h"

typedef enum {
    SYMCACHE_SYMBOL_NONE = 0,    /* file.ptr, index2.txt, or nothing that is
                                    known: there is none */
    SYMCACHE_SYMBOL_STORE,       /* plain, in one tier */
    SYMCACHE_SYMBOL_TWO_TIER,    /* plain, in two tiers: clients ask for it
                                    when they have asked in one tier */
    SYMCACHE_SYMBOL_BUILD_ID,    /* in debuginfod's way */
    SYMCACHE_SYMBOL_MSFZ         /* a compressed PDB, and no other form of it;
                                    the key is that of the PDB */
} symcache_symbol_e;

/*
 * Reads a decoded path that follows the location, with any number of slashes
 * between its parts.  Sets name and key of *req, and the version, which is the
 * same for all originals; they are undefined if the answer is NONE.  req->name
 * points into p, or to SYMCACHE_NAME_NONE for a file that has no name.
 *
 * SSQP fills a build id that is shorter than 20 bytes with zeros.  They are
 * taken off again: 16 and 8 bytes are the other lengths that linkers make.
 */
symcache_symbol_e symcache_symbol_parse(const char *p, size_t len,
    symcache_request_t *req);

/*
 * The name of a key of the kinds "source" and "section" is a path, "/usr/a.c",
 * or the name of a section, ".text".  That of the kind "file" is "<word>-", a
 * slash and the name in lower case; its id is the hash.  All bytes are written
 * as "%" and two lower-case digits but lower-case letters, digits, "-", "+",
 * "~", and "_" and "." that are not the first.  So it keeps its case, and is
 * one part of a path anywhere.
 *
 * Writes what it stands for and a NUL into buf, which has room for
 * SYMCACHE_NAME_MAX + 1 bytes.  Returns 1, or 0 if the name is not as it is
 * written here, or stands for a path with the parts "", "." or "..", or for one
 * with control characters.
 */
int symcache_symbol_unescape(char *buf, const symcache_key_t *key);

/* The most bytes of "<word>-" of a file. */
#define SYMCACHE_FILE_WORD_MAX  32

/*
 * Writes what the key of a file stands for, "<name>" and "<word>-<hex>", each
 * with a NUL, into name, which has room for SYMCACHE_NAME_MAX + 1 bytes, and
 * id, for SYMCACHE_FILE_WORD_MAX + 2 * SYMCACHE_HASH_MAX + 1.  Returns 1, or 0
 * if the name of the key is not as it is written here.
 */
int symcache_symbol_file(char *name, char *id, const symcache_key_t *key);

#endif /* _SYMCACHE_SYMBOL_PATH_H_INCLUDED_ */
