/*
 * Copyright (C) the ngx_symcache authors
 *
 * In some places the reference uses an unstable sort, and the order in which
 * that leaves equal keys decides what the reference writes.  To write the same
 * bytes, this sort leaves equal keys in the same order as symc_sort_unstable
 * of Rust 1.96, with which the pinned reference is built.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct symc_sort_item {
    uint64_t key;
    uint64_t value;
};

/* Sorts n items by key. */
void symc_sort_unstable(struct symc_sort_item *items, size_t n);
