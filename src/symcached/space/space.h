/*
 * Copyright (C) the ngx_symcache authors
 *
 * Room on a file system for what is about to be received.
 */
#ifndef SYMCACHED_SPACE_H
#define SYMCACHED_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "config/config.h"
#include "wish.h"
#include "gauge.h"
#include "sink.h"

/*
 * Reserves bytes beyond what the file has, which were announced, so that a
 * body that was begun can end; 0 only looks, and where there is too little
 * wishes for twice as much as has come.  What is not used is given back when
 * the file is cut or removed.  Returns 0; or -1 with the reason if less than
 * cache.min_free would be left, or the file system is full.
 */
int disk_space_reserve(int fd, uint64_t bytes,
                       const struct cache_config *cache, char *reason,
                       size_t size);

/* What cache.min_free is where the file is, in bytes. */
uint64_t disk_space_kept(int fd, const struct cache_config *cache);

/* Bytes that may be used in a folder; UINT64_MAX if that cannot be told. */
uint64_t disk_space_left(const char *path, const struct cache_config *cache);

#define DISK_SPACE_NONE "no room: would leave less than cache.min_free"

/* The file had no room for bytes more, at a guess: a wish for these. */
void disk_space_want_for(int fd, uint64_t bytes);

/* The same of what is made in a folder. */
void disk_space_want_in(const char *path, uint64_t bytes);

/* Who is told of wishes; there is one in the process.  NULL = nobody. */
typedef void (*disk_space_fn)(void *arg, const struct wish *wish);
void disk_space_watch(disk_space_fn fn, void *arg);

#endif
