/*
 * Copyright (C) the ngx_symcache authors
 *
 * Trees of functions on their way to the writer.  While symbols are read, the
 * second thread (debuginfo/second_thread.h), if there is one, writes the
 * functions before them.  They come to the writer in the same order as without
 * that.
 */
#ifndef DEBUGINFO_PDB_TREE_BATCHES_H
#define DEBUGINFO_PDB_TREE_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "debuginfo/failure.h"
#include "lines.h"
#include "derived/symcache/symcache.h"

/* Trees, with all that they refer to but for the sources. */
struct tree_batch {
    struct lines_list lines;
    struct arena texts;
    struct symc_function *nodes;
    size_t num_nodes;
    size_t node_room;
    uint32_t *roots; /* of complete trees, in the order of writing */
    size_t num_roots;
    size_t root_room;
    struct symc_source *sources; /* while it is written */
    struct tree_batches *batches;
};

/* All zero at the beginning, except for the first three fields. */
struct tree_batches {
    struct symc_writer *writer;
    struct source_files *sources;
    bool has_thread;
    struct failure failure; /* of the second thread */
    struct tree_batch list[2];
    unsigned turn;       /* the one that is being filled */
    bool is_running;     /* the other one is being written */
    uint64_t generation; /* another one for each batch */
};

/* The batch that is being filled. */
static inline struct tree_batch *tree_batch(struct tree_batches *b)
{
    return &b->list[b->turn];
}

/* Adds a tree that is complete.  Returns 0, or -1 if memory runs out. */
int tree_batches_add(struct tree_batches *batches, uint32_t root);

/* Must be called when all trees of the batch are complete.  If they are many,
 * they are written, and another batch begins.  Returns 0, or -1 with failure
 * set. */
int tree_batches_end(struct tree_batches *batches, struct failure *failure);

/* Writes all trees.  Returns 0, or -1 with failure set. */
int tree_batches_settle(struct tree_batches *batches, struct failure *failure);

/* Waits for the second thread, and frees everything. */
void tree_batches_free(struct tree_batches *batches);

#endif
