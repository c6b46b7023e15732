/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader of Mach-O files: programs and
 * libraries of Apple's systems, and the files in their dSYM bundles.
 */
#ifndef DEBUGINFO_MACHO_H
#define DEBUGINFO_MACHO_H

#include "convert.h"
#include "identity.h"

#endif
