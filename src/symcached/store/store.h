/*
 * Copyright (C) the ngx_symcache authors
 *
 * The trees on disk: finished SymCache files of a store, and downloaded PDBs.
 * A file appears under its name whole or not at all, and may vanish at any
 * time (cleaner, administrator, rsync): that is a miss, never an error.
 *
 * Knows nothing of jobs and of configuration beyond a root.
 */
#ifndef SYMCACHED_STORE_H
#define SYMCACHED_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include "proto/key.h"
#include "proto/path.h"
#include "proto/version.h"
#include "evict.h"
#include "evict_main.h"
#include "gzip_file.h"
#include "provenance.h"
#include "publish.h"

/* versions of one key that are looked at; more is not a real store */
#define STORE_VERSIONS_MAX 64

/* Seconds until the use of a SymCache is noted again. */
#define STORE_TOUCH_EVERY 3600

/*
 * Writes the versions of key that are on disk into versions and returns their
 * number, or -1 with errno if it cannot be seen whether there is any.
 */
int store_versions(const char *root, const symcache_key_t *key,
                   symcache_version_t versions[STORE_VERSIONS_MAX]);

/* Writes the path of one of the key's files into buf. */
void store_path(char buf[PATH_MAX], const char *root,
                const symcache_key_t *key, const symcache_version_t *version,
                symcache_file_e kind);

/*
 * Makes file (on the same file system) the key's SymCache of that version:
 * fsync, rename, fsync of the folder.  The gzip file of a former file goes.  On
 * an error file may be gone or not.
 * Returns its size, or -1 with errno; EINVAL = no regular file, or empty.
 */
long long store_publish(const char *root, const symcache_key_t *key,
                        const symcache_version_t *version, const char *file);

/* Marks the file and its gzip file as used now, at most once an hour. */
void store_touch(const char *root, const symcache_key_t *key,
                 const symcache_version_t *version);

/*
 * Where .transcoders cannot be written: removes one that names other versions,
 * as nginx had better know nothing.
 */
void store_doubt_transcoders(const char *root,
                             const symcache_version_t *versions, size_t n);

/* Writes <root>/.transcoders by rename; tmp names an unused file. */
int store_write_transcoders(const char *root, const char *tmp,
                            const symcache_version_t *versions, size_t n);

bool store_has_transcoders(const char *root);

/* Writes <downloads>/<store>/<pdb>/<GUIDAGE>/<pdb> into buf. */
void store_download_path(char buf[PATH_MAX], const char *downloads,
                         const char *store, const symcache_key_t *key);

/* true if there is a regular, not empty file; notes that it is used now. */
bool store_download_find(const char *path);

/* rename() that makes the folders of `to`, and again if they vanish. */
int store_rename(const char *from, const char *to);

#endif
