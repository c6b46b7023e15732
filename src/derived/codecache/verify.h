/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checks whether a CodeCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 */
#ifndef DERIVED_CODECACHE_VERIFY_H
#define DERIVED_CODECACHE_VERIFY_H

#include "reader.h"

/*
 * Checks that reserved bytes are zero, that parts ascend without an overlap
 * and that their bytes fill the rest of the file, that marks ascend strictly
 * and have a mode.  Takes time proportional to the number of both.  Writes the
 * first violation, and where it is, to error.
 */
enum symc_verify_status codecache_verify(const struct codecache_reader *reader,
                                         char *error, size_t error_size);

#endif
