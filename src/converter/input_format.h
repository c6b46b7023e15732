/*
 * Copyright (C) the ngx_symcache authors
 *
 * The formats that are converted.  They are recognised by the content of a
 * file, never by its name.
 */
#pragma once

#include <stdbool.h>

#include "debuginfo/format.h"

/* Files of ELF of this size and more have room for what is decompressed. */
#define INPUT_COMPRESSED_LEAST ((size_t)2 << 20)

/*
 * Returns how a file in memory becomes the output that is wanted, or the one
 * that its format prefers if wanted is NULL; or NULL if its formats do not
 * become that.  A file of no format is taken for one of the first, whose
 * reader reports what it is instead.
 */
const struct debuginfo_maker *input_maker(const uint8_t *data, size_t size,
                                          const symcache_kind_e *wanted);

/* May the file have sections that are decompressed? */
bool input_has_compressed_parts(const uint8_t *data, size_t size);

/* Has the file work for a second thread?  Of other formats than ELF, that is
 * DWARF alone, which few but large files have. */
bool input_wants_thread(const uint8_t *data, size_t size);
