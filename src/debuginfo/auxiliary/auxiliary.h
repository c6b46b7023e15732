/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that say what names and lines of debug information really are.
 */
#pragma once

#include "line_mapping.h"
#include "symbol_map.h"
#include "transform.h"
#include "uuid_map.h"
