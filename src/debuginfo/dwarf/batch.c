/*
 * Copyright (C) the ngx_symcache authors
 */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "debuginfo/background.h"

#define ENOUGH 32768 /* bytes, which take much longer than waking a thread */
#define MOST (8 * ENOUGH) /* that may wait in a large unit */

static size_t size_of(const struct dwarf_batch *b)
{
    return b->num_nodes * sizeof(*b->nodes) + b->num_lines * sizeof(*b->lines);
}

static void write_batch(void *arg)
{
    size_t i;
    struct dwarf_batch *b = arg;
    const struct symc_tree tree = {
        .nodes = b->nodes, .lines = b->lines, .sources = b->files.sources};

    for (i = 0; i < b->num_nodes && b->status == SYMC_OK; i++) {
        if (!b->nodes[i].is_inline) {
            b->status = symc_writer_function(b->writer, &tree, (uint32_t)i);
        }
    }
    b->num_nodes = b->num_lines = 0;
}

/* Waits until the other batch is written. */
static int wait(struct dwarf_batches *batches, struct failure *failure)
{
    if (batches->is_running) {
        background_wait();
        batches->is_running = false;
    }
    return failure_writer(failure, batches->list[!batches->turn].status);
}

int dwarf_batches_settle(struct dwarf_batches *batches,
                         struct failure *failure)
{
    struct dwarf_batch *b = dwarf_batch(batches);

    if (wait(batches, failure) != 0) {
        return -1;
    }
    write_batch(b);
    return failure_writer(failure, b->status);
}

int dwarf_batches_begin(struct dwarf_batches *batches, bool may_wait,
                        struct failure *failure)
{
    struct dwarf_batch *b = dwarf_batch(batches);

    b->writer = batches->writer;
    batches->is_collecting =
        may_wait && (batches->is_running || background_is_free());
    if (!batches->is_collecting &&
        dwarf_batches_settle(batches, failure) != 0) {
        return -1;
    }
    if (b->num_nodes == 0) {
        b->files.num_sources = 0;
        b->names.count = 0;
    }
    return 0;
}

/* Copies the nodes of a tree.  The places of nodes and lines are others in the
 * batch. */
static void copy_nodes(struct dwarf_batch *b, const struct symc_tree *tree,
                       size_t num_nodes)
{
    size_t i;
    uint32_t first = (uint32_t)b->num_nodes;
    struct symc_function *node = &b->nodes[first];

    memcpy(node, tree->nodes, num_nodes * sizeof(*node));
    for (i = 0; i < num_nodes; i++, node++) {
        node->first_line += (uint32_t)b->num_lines;
        node->first_child += node->first_child != SYMC_NONE ? first : 0;
        node->last_child += node->last_child != SYMC_NONE ? first : 0;
        node->next += node->next != SYMC_NONE ? first : 0;
    }
    b->num_nodes += num_nodes;
}

/* Takes a tree, whose lines are in the order of its nodes. */
static int collect(struct dwarf_batch *b, const struct symc_tree *tree,
                   size_t num_nodes)
{
    const struct symc_function *last = &tree->nodes[num_nodes - 1];
    size_t num_lines = (size_t)last->first_line + last->num_lines;

    if (symc_array_need(&b->nodes, &b->node_room, b->num_nodes + num_nodes,
                        sizeof(*b->nodes)) != 0 ||
        symc_array_need(&b->lines, &b->line_room, b->num_lines + num_lines,
                        sizeof(*b->lines)) != 0) {
        return -1;
    }
    copy_nodes(b, tree, num_nodes);
    memcpy(b->lines + b->num_lines, tree->lines,
           num_lines * sizeof(*b->lines));
    b->num_lines += num_lines;
    return 0;
}

int dwarf_batches_add(struct dwarf_batches *batches,
                      struct function_builder *builder,
                      struct failure *failure)
{
    int rc;
    struct symc_tree tree;
    struct dwarf_batch *b = dwarf_batch(batches);

    rc = function_builder_tree(builder, b->names.list, &tree, failure);
    if (rc <= 0) {
        return rc;
    }
    if (!batches->is_collecting) {
        tree.sources = b->files.sources;
        return failure_writer(failure,
                              symc_writer_function(b->writer, &tree, 0));
    }
    if (size_of(b) > MOST && dwarf_batches_settle(batches, failure) != 0) {
        return -1;
    }
    return collect(b, &tree, builder->num_nodes) != 0 ? failure_memory(failure)
                                                      : 0;
}

int dwarf_batches_name(struct dwarf_batches *batches,
                       struct dwarf_reader *reader, struct dwarf_unit *unit,
                       const struct dwarf_entry *entry, uint8_t caller,
                       uint32_t *name)
{
    struct dwarf_names *names = &dwarf_batch(batches)->names;

    /* the names may be moved, to which nodes that wait point */
    if (names->count == names->room &&
        dwarf_batches_settle(batches, reader->failure) != 0) {
        return -1;
    }
    return dwarf_names_find(names, reader, unit, entry, caller, name);
}

int dwarf_batches_end(struct dwarf_batches *batches, struct failure *failure)
{
    struct dwarf_batch *b = dwarf_batch(batches);

    if (size_of(b) < ENOUGH) {
        return 0;
    }
    if (wait(batches, failure) != 0) {
        return -1;
    }
    if (!background_run(write_batch, b)) {
        return dwarf_batches_settle(batches, failure);
    }
    batches->is_running = true;
    batches->turn = !batches->turn;
    return 0;
}

void dwarf_batches_free(struct dwarf_batches *batches)
{
    size_t i;

    if (batches->is_running) {
        background_wait();
    }
    for (i = 0; i < 2; i++) {
        dwarf_files_free(&batches->list[i].files);
        dwarf_names_free(&batches->list[i].names);
        free(batches->list[i].nodes);
        free(batches->list[i].lines);
    }
    memset(batches, 0, sizeof(*batches));
}
