/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts n keys ascending; tmp has room for n.  Callers put an address above
 * and a sequence number below, so that records stay where they are and the
 * order is a stable one.
 */
void symfile_sort(uint64_t *keys, uint64_t *tmp, size_t n);

#endif
