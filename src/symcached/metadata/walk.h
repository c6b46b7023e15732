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
 * Adds the matching downloads of one store; folder is the one of its files
 * without a name.  Slow: call it in a thread.  Returns false if some folders
 * were not examined.
 */
bool walk_downloads(struct results *results, const char *folder,
                    enum metadata_key key, const char *value);

#endif
