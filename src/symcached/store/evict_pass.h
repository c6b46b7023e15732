/*
 * Copyright (C) the ngx_symcache authors
 *
 * One pass through the trees of a helper that removes what was not used for
 * long, then the least recently used until there is room: downloads before
 * SymCache files.  Removes nothing whose name is not one that the helper
 * gives, and needs no more memory for a million files than for ten.
 *
 * Blocks: for a process of its own.  Others may work in the trees meanwhile.
 */
#ifndef SYMCACHED_STORE_EVICT_PASS_H
#define SYMCACHED_STORE_EVICT_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lived.h"
#include "symcached/space/space.h"

struct evict_pass_rules {
    unsigned max_unused_for; /* all in seconds */
    unsigned downloads_max_unused_for;
    unsigned absent_for;       /* the longest life of a negative entry */
    uint64_t max_size;         /* bytes of a store and its downloads, or 0 */
    uint64_t min_free;         /* bytes, if min_free_percent is 0 */
    unsigned min_free_percent; /* of the file system */
    struct wish wish;          /* bytes 0 = none */
    struct lived_run run;      /* of the helper; 0 = the clock is right */
    bool dry_run;              /* removes nothing, counts the same */
    bool gentle;               /* works no more than half of the time */
};

enum evict_pass_reason {
    EVICT_UNUSED,   /* not used for long */
    EVICT_EXPIRED,  /* a negative entry that is over */
    EVICT_MAX_SIZE, /* least recently used, to make room */
    EVICT_MIN_FREE,
    EVICT_REASONS
};

struct evict_pass_count {
    uint64_t files;
    uint64_t bytes;
};

struct evict_tree {
    char *store;
    char *path;
    bool downloads;
    struct evict_pass_count kept;
    struct evict_pass_count removed[EVICT_REASONS];
    uint64_t failed;   /* files that could not be removed, folders not read */
    uint64_t future;   /* files whose last use was, and is now */
    long long ahead;   /* seconds; of the clock of a store, see lived_pass() */
    long long doubted; /* see lived_doubt() */
    struct evict_pass_part *part; /* of the pass */
};

/* What wishes may have on a file system. */
struct evict_pass_space {
    dev_t device;
    const char *path; /* of a tree there */
    uint64_t share[WISH_KINDS];
    bool refused; /* the rules' wish */
};

struct evict_pass;

/* Where the pass is: folders done and there were in this tree. */
typedef void (*evict_pass_progress_fn)(void *arg,
                                       const struct evict_tree *tree,
                                       uint64_t done, uint64_t all);

/* NULL when out of memory. */
struct evict_pass *evict_pass_new(const struct evict_pass_rules *rules);
void evict_pass_free(struct evict_pass *evict_pass);

/* Adds a store and its part of the downloads.  Returns 0, -1: no memory. */
int evict_pass_add(struct evict_pass *evict_pass, const char *store,
                   const char *root, const char *downloads);

/* The one pass; progress may be NULL. */
void evict_pass_run(struct evict_pass *evict_pass,
                    evict_pass_progress_fn progress, void *arg);

/* The trees, in the order in which they were added; downloads first. */
const struct evict_tree *evict_trees(const struct evict_pass *evict_pass,
                                     size_t *n);

/* One for each file system with trees; of the last pass. */
const struct evict_pass_space *
evict_pass_spaces(const struct evict_pass *evict_pass, size_t *n);

/* "unused", "expired", "max_size", "min_free": API */
const char *evict_pass_reason_name(enum evict_pass_reason reason);

#endif
