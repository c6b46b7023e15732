/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source maps: their reader, and how a script and its map become a JsCache.
 */
#pragma once

#include "debuginfo/format.h"

#include "map.h"

/*
 * Writes the JsCache of a script and its map.  If there is no map (map is
 * NULL), it is the one that the script has in a "data:" reference.  Returns 0
 * and the result, or -1 with failure set.
 */
int sourcemap_convert(const uint8_t *script, size_t script_size,
                      const uint8_t *map, size_t map_size,
                      const struct symc_sink *sink,
                      struct debuginfo_result *result,
                      struct failure *failure);
