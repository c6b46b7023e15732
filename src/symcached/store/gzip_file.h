/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes <file>.gz for the SymCache files of a store that has "gzip": after the
 * file itself is published, one at a time, in a sandboxed child process.  A
 * gzip file is valid as long as its file exists and is not younger, so it gets
 * the time of the file, and store_touch() changes both.
 */
#ifndef SYMCACHED_STORE_GZIP_FILE_H
#define SYMCACHED_STORE_GZIP_FILE_H

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
 * When too many files wait, or there was no room beside cache.min_free a
 * moment ago, nothing is done: the next use of the file asks again.
 */
void gzip_files_want(struct gzip_files *gzip_files, const char *root,
                     const struct cache_config *cache, struct workdir *workdir,
                     const symcache_key_t *key,
                     const symcache_version_t *version);

/* Ends what is running, forgets what waits, and starts nothing any more. */
void gzip_files_stop(struct gzip_files *gzip_files);
void gzip_files_free(struct gzip_files *gzip_files);

#define GZIP_FILE_SECONDS 600 /* that a process may take */
#define GZIP_FILE_FULL 3      /* its exit code when there is no room */

/* The child process: main() of "symcached-sandboxed --gzip BYTES", where BYTES
 * stay free. */
int gzip_file_main(int argc, char **argv);

#endif
