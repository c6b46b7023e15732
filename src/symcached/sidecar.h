/*
 * Copyright (C) the ngx_symcache authors
 *
 * <file>.gz beside the SymCache files of a store that has "gzip": made by a
 * sandboxed child process, one at a time, after the file itself is published.
 * A sidecar is believed while its file is there and not younger, so it takes
 * its time from the file, and store_touch() moves both.
 */
#ifndef SYMCACHED_SIDECAR_H
#define SYMCACHED_SIDECAR_H

#include "proto/symcache_key.h"
#include "proto/symcache_version.h"

struct event_base;
struct sidecars;
struct workdir;

/* NULL when out of memory. */
struct sidecars *sidecars_new(struct event_base *base);

/*
 * Has the sidecar of a file made, unless it is there already.  root is
 * copied; workdir is that of the root and lives longer than the sidecars.
 * Where too many wait, nothing happens: the next use of the file asks again.
 */
void sidecars_want(struct sidecars *sidecars, const char *root,
                   struct workdir *workdir, const symcache_key_t *key,
                   const symcache_version_t *version);

/* Ends what runs, forgets what waits, and makes nothing more. */
void sidecars_stop(struct sidecars *sidecars);
void sidecars_free(struct sidecars *sidecars);

/* The child: main() of "symcached --gzip". */
int sidecar_main(void);

#endif
