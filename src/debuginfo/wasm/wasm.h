/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of WebAssembly modules.
 */
#pragma once

#include "debuginfo/format.h"

#include "identity.h"

/* Converts a WebAssembly module in memory to a SymCache. */
extern const struct debuginfo_format wasm_format;
