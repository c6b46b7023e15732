/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads a source map (ECMA-426, "version 3") as Symbolicator does: plain
 * ones, those with sections, and those of Hermes, which say in which function
 * a place of an original is.  What it does not read: ranges of mappings, and
 * sections that are elsewhere.
 */
#pragma once

#include "base/arena.h"
#include "debuginfo/failure.h"
#include "derived/jscache/jscache.h"
#include "json/json.h"

/* A place of an original from which on its function has a name. */
struct sourcemap_function {
    uint32_t line; /* from 1 */
    uint32_t column;
    uint32_t name;
};

/* The functions of one original; count is 0 if they are not known. */
struct sourcemap_functions {
    struct sourcemap_function *list;
    size_t count;
    size_t room;
    uint32_t names; /* the JSON array of their names */
};

/* An original; its name, after the map's sourceRoot, and its text. */
struct sourcemap_source {
    struct symc_string name; /* never absent */
    struct symc_string text; /* absent, if the map has none */
    bool is_ignored;
};

struct sourcemap {
    struct symc_string debug_id; /* as it stands there, or absent */
    struct json json; /* all texts below are in its text or in the arena */
    struct arena arena;
    struct sourcemap_source *sources;
    size_t num_sources;
    size_t source_room;
    struct symc_string *names;
    size_t num_names;
    size_t name_room;
    /* Ascending.  file and name are indices of sources and names, or
     * JSCACHE_NONE; the scopes are JSCACHE_NONE. */
    struct jscache_row *tokens;
    size_t num_tokens;
    size_t token_room;
    bool is_hermes; /* functions has an item for each source */
    struct sourcemap_functions *functions;
};

/*
 * Reads a map.  Its text is changed, and must stay where it is until the map
 * is freed; *map is all zero at first, and must be freed in any case.  Returns
 * 0, or -1 with failure set.
 */
int sourcemap_read(struct sourcemap *map, char *text, size_t size,
                   struct failure *failure);
void sourcemap_free(struct sourcemap *map);

/* Finds the token at a place of the minified text: the last one that begins
 * there or before, on whichever line; of several at one place the first.
 * Returns NULL if there is none. */
const struct jscache_row *sourcemap_find(const struct sourcemap *map,
                                         uint32_t line, uint32_t column);

/* The name of the function that a token of a Hermes map is in; absent if it is
 * not known. */
struct symc_string sourcemap_function(const struct sourcemap *map,
                                      const struct jscache_row *token);
