/*
 * Copyright (C) the ngx_symcache authors
 *
 * JsCaches, for those who write them and those who read them.
 */
#ifndef DERIVED_JSCACHE_JSCACHE_H
#define DERIVED_JSCACHE_JSCACHE_H

#include "format.h"
#include "reader.h"
#include "writer.h"

#endif
