/*
 * Copyright (C) the ngx_symcache authors
 *
 * Finds the sizes of classes that are only declared where they are used.  The
 * full definition, with the same unique name, is later in the type stream.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash_table.h"
#include "leaf.h"
#include "types.h"

struct class_size {
    struct types *types;
    struct arena arena; /* for records that are scattered in the file */
    struct forward_size *sizes; /* found so far */
    size_t count;
    size_t room;
    struct table by_name;       /* of sizes: index + 1 */
    struct forward_span *spans; /* indices searched so far */
    size_t num_spans;
    size_t span_room;
};

/* Must be all zero at the beginning, except for types. */
void class_size_free(struct class_size *forward);

/* Gets the size of the class or union that the record at index declares.
 * Returns false if no definition follows it. */
bool class_size_find(struct class_size *forward, uint32_t index,
                     const struct leaf *leaf, uint64_t *size);
