/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a WebAssembly module in memory to a SymCache.
 */
#ifndef DEBUGINFO_WASM_CONVERT_H
#define DEBUGINFO_WASM_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format wasm_format;

#endif
