/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that say what names and lines of debug information really are.
 */
#ifndef DEBUGINFO_AUXILIARY_H
#define DEBUGINFO_AUXILIARY_H

#include "line_mapping.h"
#include "symbol_map.h"
#include "transform.h"
#include "uuid_map.h"

#endif
