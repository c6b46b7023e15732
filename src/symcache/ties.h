/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where the reference sorts without regard to equal keys, the order of those
 * still decides what it writes.  This sort leaves them in the order in which
 * the standard library that the pinned reference is built with does (Rust
 * 1.96, sort_unstable).
 */
#ifndef SYMCACHE_TIES_H
#define SYMCACHE_TIES_H

#include <stddef.h>
#include <stdint.h>

struct symfile_tie {
    uint64_t key;
    uint64_t value;
};

void symfile_sort_ties(struct symfile_tie *items, size_t n);

#endif
