/*
 * Copyright (C) the ngx_symcache authors
 *
 * The functions at an address: those that were inlined there, innermost
 * first, and the one that has the code.  Files must have passed
 * symfile_verify().
 */
#ifndef SYMBOLICATION_CHAIN_H
#define SYMBOLICATION_CHAIN_H

#include "symcache/symcache.h"

/* The most functions in each other that are answered.  The converter refuses
 * deeper ones; a file from elsewhere loses the outer ones. */
#define CHAIN_MAX 2048

struct chain {
    const struct symfile_reader *reader;
    size_t count;
    struct symfile_frame frames[CHAIN_MAX];
};

/* Finds what is at an address from the beginning of the image; the count is 0
 * where nothing is known. */
void chain_find(const struct symfile_reader *reader, uint64_t address,
                struct chain *chain);

/* Where the function begins that has the code, from the beginning of the
 * image; SYMFILE_NONE when the file does not say. */
uint32_t chain_entry(const struct chain *chain);

/*
 * The size of that function in bytes: up to the first address that belongs to
 * another one.  The format has no sizes, so it is 0, unknown, for the last
 * function of a file, for one that does not begin a range, and for one of
 * more than 4096 ranges, which would take too long; of a function that was
 * split it is the size of its first part.
 */
uint32_t chain_function_size(const struct chain *chain);

#endif
