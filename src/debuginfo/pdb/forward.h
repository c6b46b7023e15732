/*
 * Copyright (C) the ngx_symcache authors
 *
 * Sizes of classes that are only declared where they are used: the full
 * definition of the same unique name stands later in the type stream.
 */
#ifndef DEBUGINFO_PDB_FORWARD_H
#define DEBUGINFO_PDB_FORWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/table.h"
#include "leaf.h"
#include "types.h"

struct forward {
    struct types *types;
    struct arena arena; /* for records that lie scattered */
    struct forward_size *sizes; /* that were learned */
    size_t count;
    size_t room;
    struct table by_name; /* of sizes: index + 1 */
    struct forward_span *spans; /* of indices that were walked */
    size_t num_spans;
    size_t span_room;
};

/* Starts from all zero but for types. */
void forward_free(struct forward *forward);

/* The size of the class or union that the record at index declares.  Returns
 * 1, or 0 if no definition follows. */
bool forward_find(struct forward *forward, uint32_t index,
                  const struct leaf *leaf, uint64_t *size);

#endif
