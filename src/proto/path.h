
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The layout of a store on disk, and its inverse:
 *
 *   <name>/<id>/<name>-v<M.m.p>.<kind>            a file of the cache
 *   <name>/<id>/<name>-v<M.m.p>.<kind>.gz         the same, gzipped
 *   <name>/<id>/<name>-v<M.m.p>.<kind>.absent     a negative cache entry
 *   .tmp/                                         work of the helper
 *   .transcoders                                  versions the helper makes
 *   .*                                            what else the helper keeps:
 *                                                 no key begins with a dot
 *
 * The negative entry of a SymCache is <name>-v<M.m.p>.absent: it was there
 * before there were kinds.  All kinds of one name and id share a folder.
 *
 * Originals lie among the downloads of a store:
 *
 *   <name>/<id>/<name>                            debug information
 *   <name>/<id>/<name>.sym                        Breakpad's text
 *   <name>/<id>/<name>.executable                 an executable
 *   <name>/<id>/<name>.source                     a source file
 *   <name>/<id>/<name>.section                    a section of an ELF file
 *   <name>/<id>/<name>.msfz                       debug information as it came,
 *                                                 a compressed PDB
 *   <name>/<id>/<name>.breakpad                   Breakpad's text that was made
 *                                                 of one of them
 *
 * Paths here are relative to the root of the store, without a leading slash.
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */

#ifndef _SYMCACHE_PATH_H_INCLUDED_
#define _SYMCACHE_PATH_H_INCLUDED_

#include <stddef.h>
#include "key.h"
#include "version.h"

#define SYMCACHE_TMP_DIR           ".tmp"

/*
 * One "M.m.p" in each line: the versions that the helper's transcoders make
 * for this store.  The helper writes the file by rename when it starts and
 * when it reloads.  The module reads it to know whether a newer version than
 * the one on disk can be made.
 */
#define SYMCACHE_TRANSCODERS_FILE  ".transcoders"

/*
 * The helper appends a byte to it, or renews it, when it has forgotten that
 * something is absent.  What the module knows to be absent of the store counts
 * no more once this file has another inode, size or time than it had when the
 * helper was asked.
 */
#define SYMCACHE_FORGOTTEN_FILE    ".forgotten"

/* What the helper knows to be absent from a store: docs/caching.md */
#define SYMCACHE_ABSENT_FILE       ".absent"

/* "-v65535.65535.65535.", a kind, and ".absent" */
#define SYMCACHE_PATH_END_MAX      (2 + SYMCACHE_VERSION_TEXT_MAX + 1         \
                                    + SYMCACHE_KIND_TEXT_MAX + 7)

/* The longest path, without a NUL. */
#define SYMCACHE_PATH_MAX          (2 * SYMCACHE_NAME_MAX + 2                 \
                                    + SYMCACHE_ID_TEXT_MAX                    \
                                    + SYMCACHE_PATH_END_MAX)

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

/*
 * The same for an original among the downloads of a store, relative to their
 * folder, and for its name alone.  The key of what is made of an original gives
 * that of debug information.
 */
size_t symcache_path_original(char *buf, const symcache_key_t *key);
size_t symcache_path_original_name(char *buf, const symcache_key_t *key);

/*
 * Returns the length, without the NUL, that symcache_path_file() does not
 * exceed for any version and any file of this key.
 */
size_t symcache_path_max(const symcache_key_t *key);

/*
 * Returns 1 if every file of this key has a name that file systems take: 255
 * bytes at most.  A key with a longer name is valid but cannot be stored, so
 * it is answered as known absent.
 */
int symcache_path_storable(const symcache_key_t *key);

/*
 * Reads the name of a folder that lies in the folder of a name.  Returns 1 and
 * sets the id in *key; or 0 if a store does not write an id like this, or has
 * no files for such an id; then the id is undefined.  The kind does not
 * matter, because a folder has files of all kinds.
 */
int symcache_path_id_parse(const char *p, size_t len, symcache_key_t *key);

/*
 * Reads the name of an entry in the folder of a key, exactly as it is written.
 * Returns 1; or 0 if the entry is not a file of this key, and then the outputs
 * are unchanged.
 */
int symcache_path_name_parse(const char *p, size_t len,
    const symcache_key_t *key, symcache_version_t *version,
    symcache_file_e *file);

/*
 * The same for a file of any kind that has the key's name: sets the kind in
 * *key.
 */
int symcache_path_entry_parse(const char *p, size_t len, symcache_key_t *key,
    symcache_version_t *version, symcache_file_e *file);

/*
 * The same for an original among the downloads: sets the kind in *key.
 */
int symcache_path_original_parse(const char *p, size_t len,
    symcache_key_t *key);

/*
 * The inverse of symcache_path_file(): exact, in the store's own case.
 * Returns 1 or 0.
 */
int symcache_path_file_parse(const char *p, size_t len, symcache_key_t *key,
    symcache_version_t *version, symcache_file_e *file);

#endif /* _SYMCACHE_PATH_H_INCLUDED_ */
