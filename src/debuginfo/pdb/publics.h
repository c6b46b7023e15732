/*
 * Copyright (C) the ngx_symcache authors
 *
 * Public symbols of code, from the stream of symbol records.
 */
#ifndef PUBLICS_H
#define PUBLICS_H

#include <stdint.h>

#include "address.h"
#include "failure.h"
#include "pdb/msf.h"
#include "symcache/symfile_writer.h"

/* Hands them to the writer in the order of the stream.  A damaged record ends
 * the list.  Returns 0, or -1 with failure set. */
int publics_read(const struct msf *msf, uint32_t stream,
                 const struct address_map *addresses,
                 struct symfile_writer *writer, struct failure *failure);

#endif
