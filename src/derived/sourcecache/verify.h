/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checks whether a SourceCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 */
#ifndef DERIVED_SOURCECACHE_VERIFY_H
#define DERIVED_SOURCECACHE_VERIFY_H

#include "reader.h"

/*
 * Checks every entry, that all texts and strings are UTF-8, the marks of their
 * lines, that keys ascend and name entries, and the order of links.  Takes time
 * proportional to the size of the file, and no memory.  Writes the first
 * violation to error.
 */
enum symc_verify_status
sourcecache_verify(const struct sourcecache_reader *reader, char *error,
                   size_t error_size);

#endif
