/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the loop asks the disk of uploads for.  A thread asks, and the loop
 * waits for it, but not for ever.  If it does not come back, whatever else
 * needs that disk fails at once until it has: a disk that hangs holds up the
 * loop once, and takes one thread.
 *
 * root is "uploads.root", or the folder of try builds in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include "proto/key.h"

struct config;
struct symstore_path;
struct upload_index_names;

/*
 * Runs a call with a copy of data, in which nothing may point to what the loop
 * or another thread uses.  Returns 0 when run has returned; data is then as run
 * has left it.  Otherwise returns an errno, ETIMEDOUT if the disk hangs, and
 * drop is called for the copy, or for data, if it is not NULL.
 */
int uploads_disk_call(const char *root, void (*run)(void *data),
                      void (*drop)(void *data), void *data, size_t size);

/* Has such a call not come back?  Then a task would not, either. */
bool uploads_disk_hangs(const char *root);

/* As root_mark_check() and the functions of upload_index.h, or an errno if the
 * disk hangs. */
int uploads_disk_check(const struct config *config);
int uploads_disk_find(const char *root, const char *folder,
                      struct upload_index_names *names);
int uploads_disk_note_asked(const char *root, const symcache_key_t *key);
void uploads_disk_note_user(const char *root, const symcache_key_t *key,
                            const symcache_key_t *user);

int uploads_disk_change(const char *root, const struct symstore_path *place,
                        bool is_there);
int uploads_disk_touch(const char *root, const struct symstore_path *place);

/* Opens a file to be read.  Returns -1 with errno, as the other two. */
int uploads_disk_open(const char *root, const char *path, struct stat *st);
int uploads_disk_lstat(const char *root, const char *path, struct stat *st);
int uploads_disk_unlink(const char *root, const char *path);
