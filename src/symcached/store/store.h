/*
 * Copyright (C) the ngx_symcache authors
 *
 * The files on disk: finished SymCache files of a store, and downloaded PDBs.
 * A file appears under its name as a whole or not at all.  It may vanish at
 * any time (cleaner, administrator, rsync), which is a miss and never an
 * error.
 *
 * This knows nothing of jobs, and of the configuration only the root.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include "proto/key.h"
#include "proto/path.h"
#include "proto/version.h"
#include "evict_schedule.h"
#include "evict_process.h"
#include "file_digest.h"
#include "gzip_file.h"
#include "provenance.h"
#include "publish.h"

/* Versions of one key that are looked at; no real store has more. */
#define STORE_VERSIONS_MAX 64

/* Seconds until the use of a SymCache is noted again. */
#define STORE_TOUCH_EVERY 3600

/*
 * Writes the versions of the key that are on disk into versions, and returns
 * their number; or -1 with errno if the folder cannot be read.
 */
int store_versions(const char *root, const symcache_key_t *key,
                   symcache_version_t versions[STORE_VERSIONS_MAX]);

/* Writes the path of one of the key's files into buf. */
void store_path(char buf[PATH_MAX], const char *root,
                const symcache_key_t *key, const symcache_version_t *version,
                symcache_file_e kind);

/* Renames an original to its place among the downloads, once its content is
 * durable: one that has its name there is used after any crash.  Returns 0, or
 * -1 with errno. */
int store_keep_original(const char *file, const char *place);

/*
 * Publishes file, which must be on the same file system, as the SymCache of
 * the key in that version, durably.  The gzip file of the former file is
 * removed.  Without a digest, one is taken later, see file_digest.h.  Returns
 * the size; or -1 with errno, after which file may or may not exist.  EINVAL:
 * it is not a regular file, or it is empty.
 */
long long store_publish(const char *root, const symcache_key_t *key,
                        const symcache_version_t *version, const char *file,
                        bool has_digest);

/* Notes that the file and its gzip file are used now, at most once an hour.
 * Returns whether it did. */
bool store_touch(const char *root, const symcache_key_t *key,
                 const symcache_version_t *version);

/*
 * Tells every nginx on the store that negative entries were dropped, by
 * <root>/.forgotten; call it after they are gone.  A root that is not there has
 * none.  Returns 0, or -1 with errno.
 */
int store_tell_forgotten(const char *root);

/* Removes all that was made for a key, of every kind; not its negative
 * entries.  Returns false if nothing can be seen for want of descriptors or
 * memory: then this must be called again.  What cannot be removed for another
 * reason is logged. */
bool store_discard(const char *root, const symcache_key_t *key);

/* Writes <downloads>/<store> into buf. */
void store_download_root(char buf[PATH_MAX], const char *downloads,
                         const char *store);

/* Writes <downloads>/<store>/<path of the key's original> into buf. */
void store_download_path(char buf[PATH_MAX], const char *downloads,
                         const char *store, const symcache_key_t *key);

/* Returns true for a regular file that is not empty, or a link to one, and
 * notes its use. */
bool store_download_find(const char *path);

/*
 * Makes a file that has the blocks of another one of the same file system,
 * where that can do it (XFS, Btrfs): it takes no time and no room, and stays as
 * it is when the other one is changed or removed.  Returns 0, or -1 with errno.
 */
int store_clone(const char *from, const char *to);

/* rename() that makes the folders of `to`, and again if they vanish. */
int store_rename(const char *from, const char *to);

struct source_type;

/* main() of "symcached --clean [--unknown] [--dry-run] [--json] [-c FILE]": one
 * pass of cleaning. */
int clean_command(int argc, char **argv,
                  const struct source_type *const *types,
                  const char *default_config);

/*
 * The names of the sections that lie among the downloads of a store.  Each
 * section of an ELF file is in a folder of its own, among the folders of all
 * other files: listing these to find them would block the event loop.  But
 * there are only some tens of names, which are kept in a file of their root.
 */

/* Before a section gets its place below the root.  Returns 0, or -1 with
 * errno. */
int section_names_add(const char *root, const symcache_key_t *key);

/* Removes the sections of files of a build id. */
void section_names_discard(const char *root, const symcache_key_t *id);

/*
 * <root>/.transcoders, the versions that symcached makes: nginx reads them
 * from there.
 */

/*
 * For a .transcoders that cannot be written: removes the former one if it
 * names other versions, because nginx had better know nothing.
 */
void transcoder_versions_remove_outdated(const char *root,
                                         const symcache_version_t *versions,
                                         size_t n);

/* Writes <root>/.transcoders durably; tmp is the path of an unused file. */
int transcoder_versions_write(const char *root, const char *tmp,
                              const symcache_version_t *versions, size_t n);

/* Is it there?  A folder that does not answer counts as if it were. */
bool transcoder_versions_exist(const char *root);
