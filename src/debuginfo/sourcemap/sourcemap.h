/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source maps: their reader, and how a script and its map become a JsCache.
 */
#ifndef DEBUGINFO_SOURCEMAP_SOURCEMAP_H
#define DEBUGINFO_SOURCEMAP_SOURCEMAP_H

#include "convert.h"
#include "map.h"

#endif
