/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tree_batches.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "debuginfo/second_thread.h"
#include "source_files.h"

#define ENOUGH 65536 /* bytes, which take much longer than waking a thread */

static size_t size_of(const struct tree_batch *b)
{
    return b->num_nodes * sizeof(*b->nodes) +
           b->lines.count * sizeof(*b->lines.data);
}

/* Writes the trees, and empties the batch. */
static int write_trees(struct tree_batch *b, struct failure *failure)
{
    size_t i;
    enum symc_status status = SYMC_OK;
    struct symc_tree tree = {b->nodes, b->lines.data, b->sources};

    for (i = 0; i < b->num_roots && status == SYMC_OK; i++) {
        status = symc_writer_function(b->batches->writer, &tree, b->roots[i]);
    }
    b->num_nodes = b->num_roots = b->lines.count = 0;
    arena_reset(&b->texts);
    return failure_writer(failure, status);
}

static void run(void *arg)
{
    struct tree_batch *b = arg;

    (void)write_trees(b, &b->batches->failure);
}

/* Waits until the other batch is written. */
static int wait(struct tree_batches *batches, struct failure *failure)
{
    if (batches->is_running) {
        second_thread_wait();
        batches->is_running = false;
    }
    if (batches->failure.code != FAILURE_NONE) {
        *failure = batches->failure;
        return -1;
    }
    return 0;
}

/* What a batch refers to stays where it is until it is written: of sources,
 * source_files.c sees to that. */
static struct tree_batch *close_batch(struct tree_batches *batches)
{
    struct tree_batch *b = tree_batch(batches);

    b->batches = batches;
    b->sources = batches->sources->list;
    batches->generation++;
    return b;
}

int tree_batches_add(struct tree_batches *batches, uint32_t root)
{
    struct tree_batch *b = tree_batch(batches);

    if (array_need(&b->roots, &b->root_room, b->num_roots + 1,
                   sizeof(*b->roots)) != 0) {
        return -1;
    }
    b->roots[b->num_roots++] = root;
    return 0;
}

int tree_batches_settle(struct tree_batches *batches, struct failure *failure)
{
    return wait(batches, failure) != 0
               ? -1
               : write_trees(close_batch(batches), failure);
}

int tree_batches_end(struct tree_batches *batches, struct failure *failure)
{
    if (batches->has_thread && size_of(tree_batch(batches)) < ENOUGH) {
        return 0;
    }
    if (!batches->has_thread) {
        return tree_batches_settle(batches, failure);
    }
    if (wait(batches, failure) != 0) {
        return -1;
    }
    if (!second_thread_run(run, close_batch(batches))) {
        return tree_batches_settle(batches, failure);
    }
    batches->is_running = true;
    batches->turn = !batches->turn;
    return 0;
}

void tree_batches_free(struct tree_batches *batches)
{
    size_t i;

    if (batches->is_running) {
        second_thread_wait();
    }
    for (i = 0; i < 2; i++) {
        lines_list_free(&batches->list[i].lines);
        arena_free(&batches->list[i].texts);
        free(batches->list[i].nodes);
        free(batches->list[i].roots);
    }
    memset(batches, 0, sizeof(*batches));
}
