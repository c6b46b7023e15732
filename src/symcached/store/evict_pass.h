/*
 * Copyright (C) the ngx_symcache authors
 *
 * One pass of cleaning through the trees of a helper.  It removes files that
 * were unused for long, and then the least recently used files until there is
 * room, downloads before SymCache files.  It removes only files with names
 * that the helper gives, and needs no more memory for a million files than for
 * ten.
 *
 * A pass blocks, so it needs a process of its own.  Other processes may work
 * in the trees at the same time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/uptime.h"
#include "symcached/space/space.h"

struct evict_pass_rules {
    unsigned max_unused_for; /* all in seconds */
    unsigned downloads_max_unused_for;
    unsigned absent_for;       /* the longest life of any negative entry */
    uint64_t max_size;         /* bytes of a store and its downloads, or 0 */
    uint64_t downloads_max_size; /* bytes of these alone, or 0 */
    uint64_t min_free;         /* bytes, if min_free_percent is 0 */
    unsigned min_free_percent; /* of the file system */
    struct space_request request; /* its bytes are 0 if there is none */
    struct uptime_run run;     /* of the helper; 0 = believe the clock */
    bool unknown; /* removes only what this release does not know, which a
                     later one left */
    bool dry_run;              /* removes nothing, but counts the same */
    bool gentle;               /* pauses for at least as long as it works */
};

enum evict_pass_reason {
    EVICT_UNUSED,   /* not used for long */
    EVICT_EXPIRED,  /* a negative entry whose time is over */
    EVICT_MAX_SIZE, /* least recently used, to make room */
    EVICT_MIN_FREE,
    EVICT_UNKNOWN, /* has a name that a later release gives: only by
                      rules.unknown */
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
    uint64_t future; /* files whose last use was in the future, and was set to
                        now */
    long long ahead; /* seconds by which the clock jumped, see uptime_pass() */
    long long doubted; /* see uptime_doubt() */
    int clock_error; /* errno of uptime_write() unless it succeeded, or the
                        root is not there */
    struct evict_pass_part *part; /* internal to the pass */
};

/* The space that requests may have on a file system. */
struct evict_pass_space {
    dev_t device;
    const char *path; /* of a tree on it */
    uint64_t share[SPACE_REQUEST_KINDS];
    bool refused; /* the request in the rules was refused */
};

struct evict_pass;

/* Tells how many folders of a tree are done, of how many. */
typedef void (*evict_pass_progress_fn)(void *arg,
                                       const struct evict_tree *tree,
                                       uint64_t done, uint64_t all);

/* The rules of a configuration. */
void evict_pass_rules_of(const struct cache_config *cache,
                         struct evict_pass_rules *rules);

/* NULL when out of memory. */
struct evict_pass *evict_pass_new(const struct evict_pass_rules *rules);
void evict_pass_free(struct evict_pass *evict_pass);

/* Adds a store and its part of the downloads.  Returns 0, or -1 without
 * memory. */
int evict_pass_add(struct evict_pass *evict_pass, const char *store,
                   const char *root, const char *downloads);

/* Adds the downloads of stores that the configuration does not have any more.
 * Returns the same. */
int evict_pass_add_former(struct evict_pass *evict_pass,
                          const char *downloads);

/* Runs the pass; progress may be NULL. */
void evict_pass_run(struct evict_pass *evict_pass,
                    evict_pass_progress_fn progress, void *arg);

/* The trees in the order in which they were added, downloads first. */
const struct evict_tree *evict_trees(const struct evict_pass *evict_pass,
                                     size_t *n);

/* Sums what was removed from all of them, and what failed. */
void evict_pass_removed(const struct evict_pass *evict_pass,
                        struct evict_pass_count removed[EVICT_REASONS],
                        uint64_t *failed);

/* The first of those that failed, and why; or "". */
const char *evict_pass_failed_at(const struct evict_pass *evict_pass);

/* The result of the pass for each file system that has trees. */
const struct evict_pass_space *
evict_pass_spaces(const struct evict_pass *evict_pass, size_t *n);

/* "unused", "expired", "max_size", "min_free", "unknown": API */
const char *evict_pass_reason_name(enum evict_pass_reason reason);
