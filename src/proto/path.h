
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a store on disk, and its inverse:
 *
 *   <pdb>/<GUIDAGE>/<pdb>-v<M.m.p>.symcache       a SymCache file
 *   <pdb>/<GUIDAGE>/<pdb>-v<M.m.p>.symcache.gz    the same, gzipped
 *   <pdb>/<GUIDAGE>/<pdb>-v<M.m.p>.absent         a negative cache entry
 *   .tmp/                                         work of the helper
 *   .transcoders                                  versions the helper makes
 *
 * Paths here are relative to the root of the store, without a leading slash.
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */


#ifndef _SYMCACHE_PATH_H_INCLUDED_
#define _SYMCACHE_PATH_H_INCLUDED_


#include <stddef.h>
#include <stdint.h>
#include "symcache_key.h"
#include "symcache_version.h"


#define SYMCACHE_TMP_DIR           ".tmp"

/*
 * One "M.m.p" a line, written by the helper at start and at reload by rename:
 * what its transcoders make for this store.  The module reads it to know that
 * an older file on disk can be bettered, or that nothing newer can be had.
 */
#define SYMCACHE_TRANSCODERS_FILE  ".transcoders"

/* <pdb>/<GUIDAGE>/<pdb>-v65535.65535.65535.symcache.gz, without a NUL */
#define SYMCACHE_PATH_MAX          (255 + 1 + 40 + 1 + 255 + 31)

/*
 * File systems end a name at 255 bytes.  A longer PDB name is a valid key, and
 * cannot be stored: it is answered as known absent.
 */
#define SYMCACHE_STORED_NAME_MAX   (255 - 31)


typedef enum {
    SYMCACHE_FILE_PLAIN = 0,
    SYMCACHE_FILE_GZIP,
    SYMCACHE_FILE_ABSENT
} symcache_file_e;


/*
 * Each writes its path and a NUL into buf, which has room for
 * SYMCACHE_PATH_MAX + 1 bytes, and returns the length without the NUL.
 */
size_t symcache_path_dir(char *buf, const symcache_key_t *key);
size_t symcache_path_name(char *buf, const symcache_key_t *key,
    const symcache_version_t *version, symcache_file_e file);
size_t symcache_path_file(char *buf, const symcache_key_t *key,
    const symcache_version_t *version, symcache_file_e file);

/* 1 if every file of this key has a name that file systems take. */
int symcache_path_storable(const symcache_key_t *key);

/*
 * Reads the name of a directory entry of the key's folder.  Returns 1, or 0 if
 * the entry is none of the key's files; then the outputs are untouched.
 */
int symcache_path_name_parse(const char *p, size_t len,
    const symcache_key_t *key, symcache_version_t *version,
    symcache_file_e *file);

/*
 * The inverse of symcache_path_file(): exact, in the store's own case.
 * Returns 1 or 0.
 */
int symcache_path_file_parse(const char *p, size_t len, symcache_key_t *key,
    symcache_version_t *version, symcache_file_e *file);


#endif /* _SYMCACHE_PATH_H_INCLUDED_ */
