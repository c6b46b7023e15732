/*
 * Copyright (C) the ngx_symcache authors
 *
 * What comments of a script refer to: its map, and a debug id.  The rules are
 * Symbolicator's.
 */
#pragma once

#include <stddef.h>

#include "derived/symcache/symcache.h"

/* The location of a script's map: the text after the last "//#
 * sourceMappingURL=" or "//@ sourceMappingURL=", up to white space, "?" and
 * "#"; for a "data:" URL up to white space.  Absent if there is none. */
struct symc_string js_source_mapping_url(const char *script, size_t size);

/* The debug id that follows the last "//# debugId=" of a script, as it stands
 * there; absent if there is none. */
struct symc_string js_debug_id(const char *script, size_t size);
