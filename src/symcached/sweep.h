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
#ifndef SYMCACHED_SWEEP_H
#define SYMCACHED_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_rules {
    unsigned max_unused_for; /* all in seconds */
    unsigned downloads_max_unused_for;
    unsigned absent_for;       /* the longest life of a negative entry */
    uint64_t max_size;         /* bytes of a store and its downloads, or 0 */
    uint64_t min_free;         /* bytes, if min_free_percent is 0 */
    unsigned min_free_percent; /* of the file system */
    uint64_t room;        /* to be free beside that, on this file system */
    uint64_t room_device; /* st_dev */
    bool dry_run;         /* removes nothing, counts the same */
    bool gentle;          /* works no more than half of the time */
};

enum sweep_reason {
    SWEEP_UNUSED,   /* not used for long */
    SWEEP_EXPIRED,  /* a negative entry that is over */
    SWEEP_MAX_SIZE, /* least recently used, to make room */
    SWEEP_MIN_FREE,
    SWEEP_REASONS
};

struct sweep_count {
    uint64_t files;
    uint64_t bytes;
};

struct sweep_tree {
    char *store;
    char *path;
    bool downloads;
    struct sweep_count kept;
    struct sweep_count removed[SWEEP_REASONS];
    uint64_t failed; /* files that could not be removed, folders not read */
    struct sweep_part *part; /* of the pass */
};

struct sweep;

/* Where the pass is: folders done and there were in this tree. */
typedef void (*sweep_progress_fn)(void *arg, const struct sweep_tree *tree,
                                  uint64_t done, uint64_t all);

/* NULL when out of memory. */
struct sweep *sweep_new(const struct sweep_rules *rules);
void sweep_free(struct sweep *sweep);

/* Adds a store and its part of the downloads.  Returns 0, -1: no memory. */
int sweep_add(struct sweep *sweep, const char *store, const char *root,
              const char *downloads);

/* The one pass; progress may be NULL. */
void sweep_run(struct sweep *sweep, sweep_progress_fn progress, void *arg);

/* The trees, in the order in which they were added; downloads first. */
const struct sweep_tree *sweep_trees(const struct sweep *sweep, size_t *n);

/* "unused", "expired", "max_size", "min_free": API */
const char *sweep_reason_name(enum sweep_reason reason);

#endif
