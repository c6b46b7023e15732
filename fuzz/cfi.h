/*
 * Copyright (C) the ngx_symcache authors
 *
 * What fuzz targets for call frame information have in common.
 */
#pragma once

#include "debuginfo/cfi.h"

/*
 * Makes a CfiCache and text of a file.  Aborts if one of them fails and the
 * other does not, if one fails without a reason, if the CfiCache is not sound,
 * or if it has other rules at an address than one that is made of the text.
 */
void cfi_check(cfi_read *read, const uint8_t *data, size_t size);

/* Looks each address of a CfiCache up, and computes what it says. */
void cfi_use(const struct cficache_reader *reader);
