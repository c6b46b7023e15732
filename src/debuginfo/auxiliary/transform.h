/*
 * Copyright (C) the ngx_symcache authors
 *
 * What auxiliary files do with the names and lines of a SymCache while it is
 * written.
 */
#pragma once

#include "debuginfo/supplement.h"

/*
 * Reads the symbol map and the line mapping of a conversion, and sets its
 * transform, until the process ends.  Adds to a note why one of them cannot be
 * read; the other one counts.
 */
void transform_take(struct supplement *supplement, char *note, size_t size);

/* Adds to a note what is missing of the names and lines that were written, as
 * supplement.h has it. */
void transform_note(const struct supplement *supplement, char *note,
                    size_t size);
