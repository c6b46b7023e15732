/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checks whether a ProguardCache complies with the format in full, which is
 * more than reading it needs.  A file is checked before it is published.
 */
#ifndef DERIVED_PROGUARDCACHE_VERIFY_H
#define DERIVED_PROGUARDCACHE_VERIFY_H

#include "reader.h"

/*
 * Checks that reserved bytes are zero, that the parts fill the file, that
 * every string is UTF-8 and every reference within its part, and the order of
 * classes, members, parameters and pairs.  Takes time proportional to the size
 * of the file.  Writes the first violation, and where it is, to error.
 */
enum symc_verify_status
proguardcache_verify(const struct proguardcache_reader *reader, char *error,
                     size_t error_size);

#endif
