/*
 * Copyright (C) the ngx_symcache authors
 *
 * Looks through the downloads for files that came here by their build id.
 */
#ifndef SYMCACHED_METADATA_WALK_H
#define SYMCACHED_METADATA_WALK_H

#include "metadata.h"
#include "results.h"

/*
 * Adds those of one store; folder is that of its files without a name.  For a
 * thread, as it takes its time.  Returns false if it has not looked at all.
 */
bool walk_downloads(struct results *results, const char *folder,
                    enum metadata_key key, const char *value);

#endif
