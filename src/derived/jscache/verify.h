/*
 * Copyright (C) the ngx_symcache authors
 *
 * Checks whether a JsCache complies with the format in full, which is more
 * than reading it needs.  A file is checked before it is published.
 */
#ifndef DERIVED_JSCACHE_VERIFY_H
#define DERIVED_JSCACHE_VERIFY_H

#include "reader.h"

/*
 * Checks that reserved bytes are zero, that the parts fill the file, that the
 * string section is a sequence of complete strings, every string offset and
 * index, that positions do not descend, and that the lines of each text
 * ascend. Takes time proportional to the size of the file, and memory for a
 * bit for each byte of strings.  Writes the first violation, and where it is,
 * to error.
 */
enum symc_verify_status jscache_verify(const struct jscache_reader *reader,
                                       char *error, size_t error_size);

#endif
