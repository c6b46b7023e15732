/*
 * Copyright (C) the ngx_symcache authors
 *
 * Symbfiles are sent in parts: slices of one file, or files of their own.  All
 * parts in a row become one symbfile.
 */
#ifndef DEBUGINFO_SYMBFILE_JOIN_PARTS_H
#define DEBUGINFO_SYMBFILE_JOIN_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "derived/symcache/symcache.h"

/*
 * Writes the records of one symbfile, or of several in a row, as one.  All of
 * them are read before.  Returns 0; -1 with what is wrong in error, as the
 * rest of a sentence; or -2 if the sink failed.
 */
int symbfile_join_parts(const uint8_t *data, size_t size,
                        const struct symc_sink *sink, char *error,
                        size_t error_size);

#endif
