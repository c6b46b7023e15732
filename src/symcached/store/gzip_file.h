/*
 * Copyright (C) the ngx_symcache authors
 *
 * <file>.gz beside the SymCache files of a store that has "gzip": made by a
 * sandboxed child process, one at a time, after the file itself is published.
 * A gzip file is believed while its file is there and not younger, so it takes
 * its time from the file, and store_touch() moves both.
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
 * Has the gzip file of a file made, unless it is there already.  root and cache
 * are copied; workdir is that of the root and lives longer than its gzip files.
 * Where too many wait, or there was no room beside cache.min_free a moment
 * ago, nothing happens: the next use of the file asks again.
 */
void gzip_files_want(struct gzip_files *gzip_files, const char *root,
                     const struct cache_config *cache, struct workdir *workdir,
                     const symcache_key_t *key,
                     const symcache_version_t *version);

/* Ends what runs, forgets what waits, and makes nothing more. */
void gzip_files_stop(struct gzip_files *gzip_files);
void gzip_files_free(struct gzip_files *gzip_files);

/* The child: main() of "symcached --gzip BYTES", which stay free. */
int gzip_file_main(int argc, char **argv);

#endif
