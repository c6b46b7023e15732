/*
 * Copyright (C) the ngx_symcache authors
 *
 * The functions at an address: those that were inlined there, innermost
 * first, and the one that has the code.  Files must have passed
 * symc_verify().
 */
#pragma once

#include "derived/symcache/symcache.h"

/* The most functions in each other that are answered.  The converter refuses
 * deeper ones; a file from elsewhere loses the outer ones. */
#define CHAIN_MAX 2048

struct chain {
    const struct symc_reader *reader;
    size_t count;
    struct symc_frame frames[CHAIN_MAX];
};

/* Finds what is at a place (symc_reader_lookup_all()); the count is 0 where
 * nothing is known. */
void chain_at(const struct symc_reader *reader, uint32_t location,
              struct chain *chain);

/* Prefetches, all at once, the memory that chain_at() and the names that it
 * finds will need, for lookups that found something.  Addresses of a stack are
 * far from each other, and waiting for memory is most of a lookup's cost. */
void chain_prefetch(const struct symc_lookup *places, size_t count);

/* Where the function begins that has the code, from the beginning of the
 * image; SYMC_NONE when the file does not say. */
uint32_t chain_entry(const struct chain *chain);

/*
 * The size of that function in bytes: up to the first address that belongs to
 * another one.  The format has no sizes, so it is 0, unknown, for the last
 * function of a file, for one that does not begin a range, and for one of
 * more than 4096 ranges, which would take too long; of a function that was
 * split it is the size of its first part.
 */
uint32_t chain_function_size(const struct chain *chain);
