/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts n keys in ascending order; tmp must have room for n.  Callers put an
 * address into the high half of a key and a sequence number into the low one.
 * So the records themselves need not move, and those with equal addresses keep
 * their order.
 */
void sort_keys(uint64_t *keys, uint64_t *tmp, size_t n);

/* As sort_keys(), with room for half of the keys, rounded up, in tmp.  Takes
 * a little longer. */
void sort_tightly(uint64_t *keys, uint64_t *tmp, size_t n);

/* Of sorted keys with the same high half, keeps the first.  Returns how many
 * keys are left. */
size_t sort_distinct(uint64_t *keys, size_t n);

/* Sorts n words in ascending order; tmp must have room for n. */
void sort_words(uint32_t *words, uint32_t *tmp, size_t n);
