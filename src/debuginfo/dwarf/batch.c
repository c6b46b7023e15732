/*
 * Copyright (C) the ngx_symcache authors
 */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "debuginfo/second_thread.h"

#define MOST (2 * DWARF_BATCH_ENOUGH) /* that may wait in a large unit */

static size_t size_of(const struct dwarf_batch *batch)
{
    return batch->num_functions * sizeof(*batch->functions) +
           batch->inlinees.count * sizeof(*batch->inlinees.list) +
           batch->lines.count * sizeof(*batch->lines.list);
}

static int write_batch_function(struct dwarf_batch *batch,
                                const struct dwarf_function *f,
                                struct failure *failure)
{
    struct function_builder *builder = &batch->batches->builder;

    function_builder_begin(builder, f->address, f->size, &f->name);
    builder->root.language = f->language;
    function_builder_take(
        builder,
        f->num_inlinees > 0 ? batch->inlinees.list + f->first_inlinee : NULL,
        f->num_inlinees,
        f->num_lines > 0 ? batch->lines.list + f->first_line : NULL,
        f->num_lines);
    return function_builder_end(builder, batch->batches->writer,
                                batch->names.list, batch->files.sources,
                                failure);
}

static int write_functions(struct dwarf_batch *batch, struct failure *failure)
{
    int rc = 0;
    size_t i;

    for (i = 0; i < batch->num_functions && rc == 0; i++) {
        rc = write_batch_function(batch, &batch->functions[i], failure);
    }
    batch->num_functions = batch->inlinees.count = batch->lines.count = 0;
    return rc;
}

static void run_batch(void *arg)
{
    struct dwarf_batch *batch = arg;

    (void)write_functions(batch, &batch->batches->failure);
}

/* Waits until the other batch is written, or does that if the second thread
 * has not begun yet. */
static int wait(struct dwarf_batches *batches, struct failure *failure)
{
    if (batches->is_running) {
        if (second_thread_take_back()) {
            run_batch(&batches->list[!batches->turn]);
        } else {
            second_thread_wait();
        }
        batches->is_running = false;
    }
    if (batches->failure.code != FAILURE_NONE) {
        *failure = batches->failure;
        return -1;
    }
    return 0;
}

int dwarf_batches_settle(struct dwarf_batches *batches,
                         struct failure *failure)
{
    return wait(batches, failure) != 0
               ? -1
               : write_functions(dwarf_batch(batches), failure);
}

int dwarf_batches_begin(struct dwarf_batches *batches, bool may_wait,
                        struct failure *failure)
{
    struct dwarf_batch *batch = dwarf_batch(batches);

    batch->batches = batches;
    batches->is_collecting = may_wait && batches->has_thread &&
                             (batches->is_running || second_thread_is_free());
    if (!batches->is_collecting &&
        dwarf_batches_settle(batches, failure) != 0) {
        return -1;
    }
    if (batch->num_functions == 0) {
        batch->files.num_sources = 0;
        batch->names.count = 0;
    }
    return 0;
}

struct dwarf_function *dwarf_batch_function(struct dwarf_batch *batch,
                                            uint64_t address, uint64_t size)
{
    struct dwarf_function *f;

    if (array_need(&batch->functions, &batch->function_room,
                   batch->num_functions + 1, sizeof(*batch->functions)) != 0) {
        return NULL;
    }
    f = &batch->functions[batch->num_functions];
    memset(f, 0, sizeof(*f));
    f->address = address;
    f->size = size;
    f->first_inlinee = batch->inlinees.count;
    f->first_line = batch->lines.count;
    return f;
}

int dwarf_batch_inlinee(struct dwarf_batch *batch,
                        const struct inlined_range *inlinee)
{
    struct dwarf_function *f = &batch->functions[batch->num_functions];

    if (inlinee->address < f->address) {
        return 0;
    }
    if (array_need(&batch->inlinees.list, &batch->inlinees.room,
                   batch->inlinees.count + 1,
                   sizeof(*batch->inlinees.list)) != 0) {
        return -1;
    }
    batch->inlinees.list[batch->inlinees.count++] = *inlinee;
    f->num_inlinees++;
    return 0;
}

int dwarf_batch_expect_lines(struct dwarf_batch *batch, size_t n)
{
    return n > SYMC_NONE - batch->functions[batch->num_functions].num_lines ||
                   array_need(&batch->lines.list, &batch->lines.room,
                              batch->lines.count + n,
                              sizeof(*batch->lines.list)) != 0
               ? -1
               : 0;
}

int dwarf_batches_add(struct dwarf_batches *batches, struct failure *failure)
{
    struct dwarf_batch *batch = dwarf_batch(batches);

    batch->num_functions++;
    if (!batches->is_collecting) {
        return write_functions(batch, failure);
    }
    return size_of(batch) > MOST ? dwarf_batches_settle(batches, failure) : 0;
}

int dwarf_batches_end(struct dwarf_batches *batches, struct failure *failure)
{
    struct dwarf_batch *batch = dwarf_batch(batches);

    if (size_of(batch) < DWARF_BATCH_ENOUGH ||
        (batches->is_running && size_of(batch) < MOST &&
         !second_thread_is_free())) {
        return 0;
    }
    if (wait(batches, failure) != 0) {
        return -1;
    }
    if (!second_thread_run(run_batch, batch)) {
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
        second_thread_wait();
    }
    for (i = 0; i < 2; i++) {
        dwarf_sources_free(&batches->list[i].files);
        dwarf_names_free(&batches->list[i].names);
        free(batches->list[i].functions);
        free(batches->list[i].inlinees.list);
        free(batches->list[i].lines.list);
    }
    function_builder_free(&batches->builder);
    memset(batches, 0, sizeof(*batches));
}
