/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of Breakpad's text files (.sym).
 */
#pragma once

#include "debuginfo/format.h"

#include "identity.h"

/* Converts a Breakpad file in memory to a SymCache. */
extern const struct debuginfo_format breakpad_format;

/* For its table. */
cfi_read breakpad_cfi_read;
