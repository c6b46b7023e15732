/*
 * Copyright (C) the ngx_symcache authors
 *
 * The formats that are converted.  They are recognised by the content of a
 * file, never by its name.
 */
#ifndef CONVERTER_INPUT_H
#define CONVERTER_INPUT_H

#include "debuginfo/format.h"

/*
 * Returns the format of a file in memory.  If no format recognises it, returns
 * the first of the table, whose reader reports what the file is instead.
 */
const struct debuginfo_format *input_format(const uint8_t *data, size_t size);

#endif
