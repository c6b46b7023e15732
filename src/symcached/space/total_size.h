/*
 * Copyright (C) the ngx_symcache authors
 *
 * Keeps cache.total_size: what a helper has on its disks in all.  That is its
 * stores and downloads, as large as the last pass of cleaning found them, and
 * what is under way in its work folders, as large as that is now.
 */
#ifndef SYMCACHED_SPACE_TOTAL_SIZE_H
#define SYMCACHED_SPACE_TOTAL_SIZE_H

#include <stdint.h>
#include "config/config.h"

#define TOTAL_NONE "no room: more than cache.total_size leaves"

/* The folders and the limit are those of config from now on. */
void total_configure(struct config *config);

/* What the last pass of cleaning left in stores and downloads. */
void total_stored(uint64_t bytes);

/* The bytes that may be received; UINT64_MAX without a limit. */
uint64_t total_left(void);

/*
 * The bytes that a process may write which writes by itself; 0 without a limit,
 * and at least 1 with one.  It is half of what is left, so that others may
 * begin meanwhile, and is given back when the process has ended.
 */
uint64_t total_lend(void);
void total_give_back(uint64_t bytes);

#endif
