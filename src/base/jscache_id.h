/*
 * Copyright (C) the ngx_symcache authors
 *
 * The id of what is made of a script and its source map, which is the hash of a
 * key (proto/key.h).
 */
#pragma once

#include <stdint.h>

#define JS_ID_SIZE 32

/*
 * The SHA-256 of the SHA-256 of the script and of that of the map; or, if the
 * script has its map in itself (map is NULL), of the former and "embedded".
 */
void jscache_id(uint8_t id[JS_ID_SIZE], const uint8_t script[JS_ID_SIZE],
           const uint8_t *map);
