/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of Breakpad's text files (.sym).
 */
#ifndef DEBUGINFO_BREAKPAD_H
#define DEBUGINFO_BREAKPAD_H

#include "convert.h"
#include "identity.h"

#endif
