/*
 * Copyright (C) the ngx_symcache authors
 *
 * What turns addresses into names, whatever protocol asks: pure functions
 * over SymCaches in memory, without I/O.
 */
#pragma once

#include "call_site.h"
#include "inline_chain.h"
#include "symbolication/demangle/demangle.h"
#include "images.h"
#include "source_context.h"
#include "resolver.h"
#include "source_path.h"
