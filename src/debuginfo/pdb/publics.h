/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads the public symbols of code from the stream of symbol records.
 */
#pragma once

#include <stdint.h>

#include "address.h"
#include "debuginfo/failure.h"
#include "msf.h"
#include "derived/symcache/symcache.h"

/* Passes them to the writer in the order of the stream.  Reading ends at a
 * damaged record.  Returns 0, or -1 with failure set. */
int publics_read(const struct msf *msf, uint32_t stream,
                 const struct address_map *addresses,
                 struct symc_writer *writer, struct failure *failure);
