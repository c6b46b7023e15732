/*
 * Copyright (C) the ngx_symcache authors
 *
 * What has to go for room after the first walk of a pass: the least recently
 * used of a store that is over its size, and of a file system where too
 * little is free.
 */
#ifndef SYMCACHED_STORE_EVICT_FOR_SPACE_H
#define SYMCACHED_STORE_EVICT_FOR_SPACE_H

#include "age_histogram.h"
#include "evict_pass.h"
#include "lived.h"

/* What the first walk found out about a tree. */
struct evict_pass_part {
    struct age_histogram age_histogram; /* of what may go; marks what has to */
    struct lived lived; /* of a store, and of its downloads */
    dev_t device;
    bool there;
    uint64_t disk; /* allocated by what is kept */
    uint64_t freed;
    uint64_t quota[EVICT_REASONS]; /* marked bytes, for the second walk */
};

struct eviction {
    const struct evict_pass_rules *rules;
    const char *downloads;    /* root of all downloads */
    struct evict_tree *trees; /* downloads, store, downloads, store, ... */
    size_t ntrees;
    struct evict_pass_space *spaces; /* result: one for each file system */
    size_t nspaces;
    struct evict_tree **chosen; /* room for all of them, and their ages */
    struct age_histogram **age_histogram;
};

/* Makes room for so many trees.  Returns 0, -1: no memory. */
int eviction_fit(struct eviction *eviction, size_t ntrees);
void eviction_drop(struct eviction *eviction);

void eviction_mark(struct eviction *eviction);

#endif
