/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checks whether a CfiCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 */
#ifndef DERIVED_CFICACHE_VERIFY_H
#define DERIVED_CFICACHE_VERIFY_H

#include "reader.h"

/*
 * Checks that reserved bytes are zero, that the parts fill the file, that maps
 * ascend strictly and refer to sets and records that exist, that sets divide
 * the rules among themselves and begin with CFA and return address, each rule,
 * each name, and that each program always finds what it needs.  Takes time
 * proportional to the size of the file, and memory for a bit for each byte of
 * programs.  Writes the first violation, and where it is, to error.
 */
enum symc_verify_status cficache_verify(const struct cficache_reader *reader,
                                        char *error, size_t error_size);

#endif
