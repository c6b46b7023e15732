/*
 * Copyright (C) the ngx_symcache authors
 *
 * Memory for large data in between, such as decompressed sections.  It comes
 * from a mapped file, if the program has one, so that the kernel can write it
 * out instead of running out of memory, and from the heap otherwise.
 */
#pragma once

#include <stddef.h>

/* Lets scratch_allocate() use a mapping of a file, from its beginning on; fd
 * is the file, open for writing, as long as the process runs.  One process
 * converts one file, so there is one for all. */
void scratch_use(void *mapping, size_t size, int fd);

/* Returns memory that scratch_free() takes back, or NULL.  Room in the mapping
 * is not used again. */
void *scratch_allocate(size_t size);
void scratch_free(void *memory);

/* As memcpy() into memory of scratch_allocate().  Of a mapped file the kernel
 * would clear each page before it is written; pages that are written by
 * pwrite() as a whole it does not. */
void scratch_copy(void *to, const void *from, size_t size);
