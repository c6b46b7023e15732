/*
 * Copyright (C) the ngx_symcache authors
 *
 * Space on a file system for files that are about to be received.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include "config/config.h"
#include "space_request.h"

/*
 * Reserves space after the end of a file for as many bytes as were announced,
 * so that a body that has begun to arrive can be completed.  With 0 bytes it
 * only checks; where there is too little space, it asks for twice as much as
 * has arrived.  Unused space is returned when the file is truncated or
 * removed.  Returns 0; or -1 with the reason in text if less than
 * cache.min_free would be left, or if the file system is full.
 */
int disk_space_reserve(int fd, uint64_t bytes,
                       const struct cache_config *cache, char *reason,
                       size_t size);

/* The bytes that cache.min_free stands for on the file system of fd. */
uint64_t disk_space_kept(int fd, const struct cache_config *cache);

/* The file system of a folder, in bytes. */
struct disk_space {
    uint64_t size;
    uint64_t free; /* to this user */
    uint64_t kept; /* what cache.min_free stands for */
};

/* Returns -1 with errno if nothing is known of the folder. */
int disk_space_look(const char *path, const struct cache_config *cache,
                    struct disk_space *space);

/*
 * Has a file system a number of inodes, of which almost none is left?  Then
 * files find no room although bytes are free.  Where inodes are made as they
 * are needed, there is no such number.
 */
bool disk_space_lacks_inodes(const struct statvfs *fs);

/* The same of a folder's file system; false if nothing is known of it. */
bool disk_space_lacks_inodes_in(const char *path);

/* Are fewer inodes left than a program may need that makes some files there?
 * False if nothing is known of it. */
bool disk_space_has_few_inodes(const char *path);

/* Bytes that may be used in a folder; UINT64_MAX with errno if that is not
 * known. */
uint64_t disk_space_left(const char *path, const struct cache_config *cache);

#define DISK_SPACE_NONE "no room: would leave less than cache.min_free"
#define DISK_SPACE_NO_INODES "no room: no inodes are left"

/*
 * There was no room to extend the file by about so many bytes: asks for
 * them.
 */
void disk_space_want_for(int fd, uint64_t bytes);

/* The same for a folder in which something is being made. */
void disk_space_want_in(const char *path, uint64_t bytes);

/*
 * Registers the one listener of the process that is told of requests; NULL for
 * none.
 */
typedef void (*disk_space_fn)(void *arg, const struct space_request *request);
void disk_space_watch(disk_space_fn fn, void *arg);
