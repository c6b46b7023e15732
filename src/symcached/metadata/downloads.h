/*
 * Copyright (C) the ngx_symcache authors
 *
 * The downloads that came here by their build id, and what is known of them.
 */
#pragma once

#include "metadata.h"
#include "results.h"

/*
 * Adds the matching downloads of one store; folder is the one of its files
 * without a name.  Slow: call it in a thread.  Returns false if some folders
 * were not examined.
 */
bool downloads_walk(struct results *results, const char *folder,
                    enum metadata_key key, const char *value);
