/*
 * Copyright (C) the ngx_symcache authors
 *
 * ProguardCaches, for those who write them and those who read them.
 */
#ifndef DERIVED_PROGUARDCACHE_PROGUARDCACHE_H
#define DERIVED_PROGUARDCACHE_PROGUARDCACHE_H

#include "format.h"
#include "reader.h"
#include "writer.h"

#endif
