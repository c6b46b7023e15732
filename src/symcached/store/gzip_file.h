/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes <file>.gz for the SymCache files of a store that has "gzip": after the
 * file itself is published, one at a time, in a sandboxed child process.  A
 * gzip file is valid as long as its file exists and is not younger, so it gets
 * the time of the file, and store_touch() changes both.
 */
#pragma once

#include "child/child.h"
#include "config/config.h"
#include "proto/key.h"
#include "proto/version.h"

struct event_base;
struct gzip_files;
struct workdir;

/* NULL when out of memory. */
struct gzip_files *gzip_files_new(struct event_base *base);

/*
 * Has the gzip file of a file made, unless it exists.  root and cache are
 * copied; workdir belongs to the root and must live longer than gzip_files.
 * When too many files wait, or if cache.min_free left no space a moment ago,
 * nothing is done: the next use of the file asks again.
 */
void gzip_files_want(struct gzip_files *gzip_files, const char *root,
                     const struct cache_config *cache, struct workdir *workdir,
                     const symcache_key_t *key,
                     const symcache_version_t *version);

/* Ends the running processes, drops the waiting files, and starts nothing any
 * more. */
void gzip_files_stop(struct gzip_files *gzip_files);
void gzip_files_free(struct gzip_files *gzip_files);

#define GZIP_FILE_SECONDS 600 /* that a process may take */
#define GZIP_FILE_FULL 3      /* its exit code when there is no room */

/*
 * Starts a process that writes the gzip file of in, or what is in the gzip file
 * in, to out, an empty file.  Both are read and written where their descriptors
 * stand.  It ends with 0; or with 1 or more and a line of why not: for
 * gunzip_start(), too, if more than max bytes come out of it or if anything is
 * behind its end.  The caller keeps the descriptors and may close them at once.
 * Returns NULL with errno.
 */
struct child *gzip_start(struct event_base *base,
                         const struct cache_config *cache, int in, int out,
                         child_done_fn done, void *arg);
struct child *gunzip_start(struct event_base *base,
                           const struct cache_config *cache, int in, int out,
                           uint64_t max, child_done_fn done, void *arg);

/* The child processes: main() of "symcached-sandboxed --gzip KEEP MAX", and of
 * "--gunzip KEEP MAX", where KEEP bytes stay free, and MAX may be written. */
int gzip_file_main(int argc, char **argv);
int gunzip_file_main(int argc, char **argv);
