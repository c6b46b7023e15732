/*
 * Copyright (C) the ngx_symcache authors
 *
 * Inlined calls of one module: the table of what is inlined, and the lines
 * that the annotations of one call describe.
 */
#ifndef DEBUGINFO_PDB_INLINEES_H
#define DEBUGINFO_PDB_INLINEES_H

#include <stddef.h>
#include <stdint.h>

#include "lines.h"

struct inlinees {
    uint64_t *keys; /* id above, place in the table below; ascending */
    size_t count;
    size_t room; /* twice count is needed for sorting */
    const uint8_t *table;
};

/* Starts from all zero. */
void inlinees_free(struct inlinees *inlinees);

/* Reads the table of the module that lines has taken up.  Returns 0, or -1 if
 * it is damaged. */
int inlinees_open(struct inlinees *inlinees, const struct lines *lines);

/* The entry of an id; NULL if there is none. */
const uint8_t *inlinees_find(const struct inlinees *inlinees, uint32_t id);

/*
 * Appends the lines of one inlined call in the procedure at section:offset.
 * Returns 0, or -1 when annotations or files are damaged; what was appended
 * is then to be dropped.
 */
int inlinees_lines(struct lines *lines, const uint8_t *entry,
                   const uint8_t *annotations, uint32_t size, uint32_t section,
                   uint32_t offset, struct lines_list *list);

#endif
