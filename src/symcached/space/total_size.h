/*
 * Copyright (C) the ngx_symcache authors
 *
 * Enforces cache.total_size, the limit for all files of a configuration's
 * stores.  They are stores and downloads, with their sizes at the last pass of
 * cleaning, and the files being written in work folders, with their sizes now.
 *
 * A process has one configuration, whose cache the functions below are given,
 * that of this reload or of one before; beside it, those of guest stores.
 */
#pragma once

#include <stdint.h>
#include "config/config.h"

#define TOTAL_NONE "no room: more than cache.total_size leaves"

/* The folders and the limit are those of config from now on. */
void total_configure(struct config *config);

/* Adds a configuration that counts for itself.  Returns 0, or -1 without
 * memory. */
int total_add(struct config *config);

/* Nothing of that configuration is under way any more. */
void total_remove(const struct config *config);

/* The bytes that the last pass of cleaning left in stores and downloads. */
void total_stored(const struct cache_config *cache, uint64_t bytes);

/* The bytes that may be received; UINT64_MAX without a limit. */
uint64_t total_left(const struct cache_config *cache);

/*
 * The bytes that a process may write which writes by itself; 0 without a
 * limit, and at least 1 with one.  It is half of what is left, so that others
 * may begin meanwhile, and is given back when the process has ended.
 */
uint64_t total_lend(const struct cache_config *cache);
void total_give_back(const struct cache_config *cache, uint64_t bytes);
