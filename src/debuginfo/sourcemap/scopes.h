/*
 * Copyright (C) the ngx_symcache authors
 *
 * Functions of a script under their original names, by the rules of
 * js-source-scopes.
 */
#pragma once

#include "map.h"

/*
 * Gives each token of a map the function that it is in, in a script of UTF-8.
 * Names are in the map, the script, or its arena.  Returns 0; 1 if the script
 * cannot be read, and no token has one, with a text that says why; or -1 with
 * failure set.
 */
int scopes_add(struct sourcemap *map, const char *script, size_t size,
               struct jscache_writer *writer, char *text, size_t text_size,
               struct failure *failure);
