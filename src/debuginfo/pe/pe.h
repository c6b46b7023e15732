/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of PE images (.exe, .dll, .sys).
 */
#ifndef DEBUGINFO_PE_H
#define DEBUGINFO_PE_H

#include "convert.h"
#include "debug_directory.h"
#include "identity.h"
#include "instructions.h"

#endif
