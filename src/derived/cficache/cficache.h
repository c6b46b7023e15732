/*
 * Copyright (C) the ngx_symcache authors
 *
 * CfiCaches, for those who write them and those who read them.
 */
#ifndef DERIVED_CFICACHE_CFICACHE_H
#define DERIVED_CFICACHE_CFICACHE_H

#include "evaluate.h"
#include "format.h"
#include "program.h"
#include "reader.h"
#include "writer.h"

#endif
