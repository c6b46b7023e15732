/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checks whether a PpdbCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 */
#ifndef DERIVED_PPDBCACHE_VERIFY_H
#define DERIVED_PPDBCACHE_VERIFY_H

#include "reader.h"

/*
 * Checks that reserved bytes are zero, that the parts fill the file, that the
 * string section is a sequence of complete strings, every string offset and
 * file index, and that the ranges ascend strictly.  Takes time proportional to
 * the size of the file, and memory for a bit for each byte of strings.  Writes
 * the first violation, and where it is, to error.
 */
enum symc_verify_status ppdbcache_verify(const struct ppdbcache_reader *reader,
                                         char *error, size_t error_size);

#endif
