/*
 * Copyright (C) the ngx_symcache authors
 *
 * Memory for large data in between, such as decompressed sections.  It comes
 * from a mapped file, if the program has one, so that the kernel can write it
 * out instead of running out of memory, and from the heap otherwise.
 */
#ifndef DEBUGINFO_SCRATCH_H
#define DEBUGINFO_SCRATCH_H

#include <stddef.h>

/* Lets scratch_allocate() use a mapping, from its beginning on.  One process
 * converts one file, so there is one for all. */
void scratch_use(void *mapping, size_t size);

/* Returns memory that scratch_free() takes back, or NULL.  Room in the mapping
 * is not used again. */
void *scratch_allocate(size_t size);
void scratch_free(void *memory);

#endif
