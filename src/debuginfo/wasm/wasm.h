/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of WebAssembly modules.
 */
#ifndef DEBUGINFO_WASM_H
#define DEBUGINFO_WASM_H

#include "convert.h"
#include "identity.h"

#endif
