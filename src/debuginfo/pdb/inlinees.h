/*
 * Copyright (C) the ngx_symcache authors
 *
 * Inlined calls of one module: the table of inlined functions, and the lines
 * that the binary annotations of one call describe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lines.h"

struct inlinees {
    uint64_t *keys; /* ascending; the id in the high half, the offset in the
                     * table in the low half */
    size_t count;
    size_t room; /* sorting needs twice the count */
    const uint8_t *table;
};

/* Frees the memory.  At the beginning the struct must be all zero. */
void inlinees_free(struct inlinees *inlinees);

/* Reads the table of the module that lines_open() was called for.  Returns 0,
 * or -1 if it is damaged. */
int inlinees_open(struct inlinees *inlinees, const struct lines *lines);

/* Returns the table entry of an id, or NULL. */
const uint8_t *inlinees_find(const struct inlinees *inlinees, uint32_t id);

/*
 * Appends the lines of one inlined call in the procedure at section:offset.
 * Returns 0, or -1 if annotations or files are damaged; then the caller must
 * drop what was appended.
 */
int inlinees_lines(struct lines *lines, const uint8_t *entry,
                   const uint8_t *annotations, uint32_t size, uint32_t section,
                   uint32_t offset, struct lines_list *list);
