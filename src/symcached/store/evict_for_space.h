/*
 * Copyright (C) the ngx_symcache authors
 *
 * Decides what must be removed for space after the first walk of a pass: the
 * least recently used files of a store that is larger than allowed, and of a
 * file system on which too little is free.
 */
#pragma once

#include "age_histogram.h"
#include "evict_pass.h"
#include "base/uptime.h"

/* The result of the first walk through a tree. */
struct evict_pass_part {
    struct age_histogram age_histogram; /* of files that may be removed; marks
                                           those that must be */
    struct uptime uptime; /* the same for a store and its downloads */
    dev_t device;
    bool there;
    uint64_t disk; /* allocated by files that are kept */
    uint64_t freed;
    uint64_t quota[EVICT_REASONS]; /* marked bytes that the second walk still
                                      has to remove */
};

struct eviction {
    const struct evict_pass_rules *rules;
    const char *downloads;    /* root of all downloads */
    struct evict_tree *trees; /* downloads, store, downloads, store, ... */
    size_t ntrees;
    struct evict_pass_space *spaces; /* result: one for each file system */
    size_t nspaces;
    struct evict_tree **chosen; /* room for all trees, and their histograms */
    struct age_histogram **age_histogram;
};

/* Makes room for so many trees.  Returns 0, or -1 without memory. */
int eviction_fit(struct eviction *eviction, size_t ntrees);
void eviction_drop(struct eviction *eviction);

void eviction_mark(struct eviction *eviction);
