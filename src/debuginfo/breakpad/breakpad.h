/*
 * Copyright (C) the ngx_symcache authors
 *
 * Breakpad's text files (.sym): what other rooms may use of their reader.
 */
#ifndef DEBUGINFO_BREAKPAD_H
#define DEBUGINFO_BREAKPAD_H

#include "convert.h"
#include "identity.h"

#endif
