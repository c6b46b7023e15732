/*
 * Copyright (C) the ngx_symcache authors
 *
 * The formats that are converted.  They are recognised by the content of a
 * file, never by its name.
 */
#ifndef CONVERTER_INPUT_FORMAT_H
#define CONVERTER_INPUT_FORMAT_H

#include "debuginfo/format.h"

/*
 * Returns how a file in memory becomes the output that is wanted, or the one
 * that its format prefers if wanted is NULL; or NULL if its formats do not
 * become that.  A file of no format is taken for one of the first, whose
 * reader reports what it is instead.
 */
const struct debuginfo_maker *input_maker(const uint8_t *data, size_t size,
                                          const symcache_kind_e *wanted);

#endif
