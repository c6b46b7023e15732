/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef SYMFILE_VERIFY_H
#define SYMFILE_VERIFY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Checks a whole SymCache beyond what a reader needs: order of ranges, every
 * index and string reference, chains of callers without loop.  Returns 0, or
 * -1 with the first violation and its place in error.
 */
int symfile_verify(const uint8_t *data, size_t size, char *error,
                   size_t error_size);

#endif
