/*
 * Copyright (C) the ngx_symcache authors
 *
 * PpdbCaches, for those who write them and those who read them.
 */
#ifndef PPDBCACHE_H
#define PPDBCACHE_H

#include "format.h"
#include "reader.h"
#include "verify.h"
#include "writer.h"

#endif
