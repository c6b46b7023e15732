/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that cleaning keeps or removes together: one kind of a version with its
 * .gz, a negative entry, or a download.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include "proto/path.h"

#define EVICT_UNIT_FILES 3 /* indexed by symcache_file_e */

struct evict_unit {
    symcache_version_t version;
    symcache_kind_e kind;
    bool negcache;
    time_t used;
    uint64_t size;
    uint64_t disk;
    struct stat files[EVICT_UNIT_FILES]; /* st_nlink is 0 if there is no such
                                            file */
};

/* Adds a file as it was seen. */
void evict_unit_add(struct evict_unit *unit, symcache_file_e file,
                    const struct stat *st);

unsigned evict_unit_files(const struct evict_unit *unit);

/* Is there the gzip file of a file that is gone or was replaced?  Then it is
 * moved to a unit of its own. */
bool evict_unit_split_gzip(struct evict_unit *unit, struct evict_unit *gzip);

/* Sets the last use of its files to the present time.  dir is the folder of the
 * key, here and below. */
void evict_unit_use(const struct evict_unit *unit, int dir, bool downloads,
                    const symcache_key_t *key);

/*
 * Removes the files that were seen, and no others: one that was published in
 * its place, or used in the meantime, gets its name back.  *serial makes the
 * names that files have meanwhile unique in the process.  Returns 0 when they
 * are gone, whichever process removed them; 1 when one stays, with those after
 * it; -1 with errno.
 */
int evict_unit_remove(const struct evict_unit *unit, int dir, bool downloads,
                      const symcache_key_t *key, unsigned long long *serial);

/* Is it the name that a file has while it is being removed? */
bool evict_unit_is_removed(const char *name);
