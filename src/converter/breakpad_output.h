/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes Breakpad's text (.sym) of a file of any format: names, lines and
 * inlined calls are those of its SymCache, which is made in memory, and call
 * frame information is that of its CfiCache.
 */
#pragma once

#include "debuginfo/format.h"

/* Writes the text of a file in memory, whose module has this name.  Returns 0,
 * or -1 with failure set. */
int sym_output(const uint8_t *data, size_t size, const char *name,
               const struct symc_sink *sink, struct debuginfo_result *result,
               struct failure *failure);
