/*
 * Copyright (C) the ngx_symcache authors
 *
 * Frames, exceptions, classes and signatures of programs that ProGuard or R8
 * has shrunk.  No I/O.
 */
#pragma once

#include "alternatives.h"
#include "remap.h"
#include "retrace.h"
#include "signature.h"
#include "traces.h"
