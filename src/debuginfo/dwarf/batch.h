/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions on their way to the writer.  While the entries of units are read,
 * the second thread (debuginfo/second_thread.h), if it has nothing else to do,
 * builds and writes the functions of the units before them.  They come to the
 * writer in the same order as without that.
 */
#pragma once

#include "sources_and_names.h"

/* A function, and which inlined ranges and lines of its batch it has. */
struct dwarf_function {
    uint64_t address;
    uint64_t size;
    struct symc_name name;
    uint8_t language;
    size_t first_inlinee;
    size_t num_inlinees;
    size_t first_line;
    size_t num_lines;
};

/* Units that were read one after the other, with the files and names to which
 * their functions refer. */
struct dwarf_batch {
    struct dwarf_sources files;
    struct dwarf_names names;
    struct dwarf_function *functions;
    size_t num_functions;
    size_t function_room;
    struct inlined_ranges inlinees;
    struct line_records lines;
    struct dwarf_batches *batches;
};

/* Bytes of entries, with fewer of which a second thread takes more than it
 * saves; and of what waits in a batch, of which writing takes much longer than
 * waking a thread.  Inputs of the fuzz targets are small. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define DWARF_BATCHES_LEAST 0
#define DWARF_BATCH_ENOUGH 128
#else
#define DWARF_BATCHES_LEAST (256u << 10)
#define DWARF_BATCH_ENOUGH (96u << 10)
#endif

/* All zero but for the first two and the work of the builder at the beginning.
 */
struct dwarf_batches {
    struct symc_writer *writer;
    bool has_thread;                 /* where there is one that is free */
    struct function_builder builder; /* of whoever writes */
    struct failure failure;          /* of the second thread */
    struct dwarf_batch list[2];
    unsigned turn;      /* the one that is being filled */
    bool is_running;    /* the other one is being written */
    bool is_collecting; /* functions of this unit are written later */
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

/* Begins a function, which has no name, inlined ranges and lines yet.  One
 * that is begun and not ended is forgotten.  Returns NULL if memory runs out.
 */
struct dwarf_function *dwarf_batch_function(struct dwarf_batch *batch,
                                            uint64_t address, uint64_t size);

/* Adds to the function that was begun.  Returns 0, or -1 if memory runs out.
 */
int dwarf_batch_inlinee(struct dwarf_batch *batch,
                        const struct inlined_range *inlinee);

/* Makes room for this many lines of that function.  Returns 0, or -1 if memory
 * runs out. */
int dwarf_batch_expect_lines(struct dwarf_batch *batch, size_t n);

/* Adds a line for which there is room. */
static inline void dwarf_batch_line(struct dwarf_batch *batch,
                                    const struct symc_line *line)
{
    struct dwarf_function *f = &batch->functions[batch->num_functions];

    if (line->address >= f->address) {
        batch->lines.list[batch->lines.count++] = *line;
        f->num_lines++;
    }
}

/* Ends the function that was begun.  Returns 0, or -1 with failure set. */
int dwarf_batches_add(struct dwarf_batches *batches, struct failure *failure);

/* Ends a unit.  Returns 0, or -1 with failure set. */
int dwarf_batches_end(struct dwarf_batches *batches, struct failure *failure);

/* Writes all functions that wait.  Returns 0, or -1 with failure set. */
int dwarf_batches_settle(struct dwarf_batches *batches,
                         struct failure *failure);

/* Waits for the second thread, and frees everything. */
void dwarf_batches_free(struct dwarf_batches *batches);
