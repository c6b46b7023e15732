/*
 * Copyright (C) the ngx_symcache authors
 *
 * Room on a file system for what is about to be received.
 */
#ifndef SYMCACHED_ROOM_H
#define SYMCACHED_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "config.h"

/*
 * Reserves bytes beyond what the file has, so that a body that was begun can
 * end; 0 only looks.  What is not used is given back when the file is cut or
 * removed.  Returns 0; or -1 with the reason if less than cache.min_free
 * would be left, or the file system is full.
 */
int room_reserve(int fd, uint64_t bytes, const struct cache_config *cache,
                 char *reason, size_t size);

/* Does this errno say that a disk, or a quota on it, is full? */
bool room_is_out(int errnum);

/* Says that so many bytes more had no room beside cache.min_free. */
void room_want(dev_t device, uint64_t bytes);

/* Who is told of that; there is one in the process.  NULL = nobody. */
typedef void (*room_fn)(void *arg, dev_t device, uint64_t bytes);
void room_watch(room_fn fn, void *arg);

#endif
