/*
 * Copyright (C) the ngx_symcache authors
 *
 * The formats that are converted, told apart by content and never by name.
 */
#ifndef CONVERTER_INPUT_H
#define CONVERTER_INPUT_H

#include "debuginfo/format.h"

/*
 * The format of a file in memory.  Where no format knows the first bytes it is
 * the first of the table, whose reader says what the file is instead.
 */
const struct debuginfo_format *input_format(const uint8_t *data, size_t size);

#endif
