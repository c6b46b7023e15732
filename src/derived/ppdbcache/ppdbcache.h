/*
 * Copyright (C) the ngx_symcache authors
 *
 * PpdbCaches, for those who write them and those who read them.
 */
#ifndef DERIVED_PPDBCACHE_PPDBCACHE_H
#define DERIVED_PPDBCACHE_PPDBCACHE_H

#include "format.h"
#include "reader.h"
#include "writer.h"

#endif
