/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions on their way to the writer.  While the entries of units are read,
 * the second thread (debuginfo/background.h), if it has nothing else to do,
 * writes the functions of the units before them.  They come to the writer in
 * the same order as without that.
 */
#ifndef DEBUGINFO_DWARF_BATCH_H
#define DEBUGINFO_DWARF_BATCH_H

#include "files.h"

/* Units that were read one after the other, with the files and names to which
 * their functions refer. */
struct dwarf_batch {
    struct dwarf_files files;
    struct dwarf_names names;
    struct symc_function *nodes; /* of all trees; those that are not inlined
                                    are the roots */
    size_t num_nodes;
    size_t node_room;
    struct symc_line *lines;
    size_t num_lines;
    size_t line_room;
    struct symc_writer *writer;
    enum symc_status status; /* of the writer */
};

/* All zero but for the writer at the beginning. */
struct dwarf_batches {
    struct symc_writer *writer;
    struct dwarf_batch list[2];
    unsigned turn;   /* the one that is being filled */
    bool is_running; /* the other one is being written */
    bool
        is_collecting; /* functions of this unit wait, and are written later */
};

/* The batch that is being filled. */
static inline struct dwarf_batch *dwarf_batch(struct dwarf_batches *b)
{
    return &b->list[b->turn];
}

/* Begins a unit, whose functions may wait or not.  Returns 0, or -1 with
 * failure set if one that waited could not be written. */
int dwarf_batches_begin(struct dwarf_batches *batches, bool may_wait,
                        struct failure *failure);

/* As dwarf_names_find(), of the unit. */
int dwarf_batches_name(struct dwarf_batches *batches,
                       struct dwarf_reader *reader, struct dwarf_unit *unit,
                       const struct dwarf_entry *entry, uint8_t caller,
                       uint32_t *name);

/* Ends the function of a builder, and takes it.  Returns 0, or -1 with failure
 * set. */
int dwarf_batches_add(struct dwarf_batches *batches,
                      struct function_builder *builder,
                      struct failure *failure);

/* Writes all functions that wait.  Returns 0, or -1 with failure set. */
int dwarf_batches_settle(struct dwarf_batches *batches,
                         struct failure *failure);

/* Ends a unit.  Returns 0, or -1 with failure set. */
int dwarf_batches_end(struct dwarf_batches *batches, struct failure *failure);

/* Waits for the second thread, and frees everything. */
void dwarf_batches_free(struct dwarf_batches *batches);

#endif
