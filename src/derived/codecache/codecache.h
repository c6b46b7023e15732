/*
 * Copyright (C) the ngx_symcache authors
 *
 * CodeCaches, for those who write them and those who read them.
 */
#ifndef DERIVED_CODECACHE_CODECACHE_H
#define DERIVED_CODECACHE_CODECACHE_H

#include "format.h"
#include "reader.h"
#include "writer.h"

#endif
