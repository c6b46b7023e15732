/*
 * Copyright (C) the ngx_symcache authors
 *
 * The parts of a source map, for map.c and for each other.  All functions
 * return 0, or -1 with failure set.
 */
#pragma once

#include "map.h"

#define SOURCEMAP_DEPTH_MAX 8 /* of sections inside each other */

/* The value of a member; 0: there is none, it is null, or of another type,
 * which is a failure. */
uint32_t sourcemap_member(const struct json *json, uint32_t object,
                          const char *name, enum json_type type,
                          struct failure *failure);

/* Reads a map, with or without sections, into an empty one. */
int sourcemap_read_object(struct sourcemap *map, uint32_t object,
                          unsigned depth, struct failure *failure);

/* Reads the maps of sections, and joins them into one. */
int sourcemap_read_sections(struct sourcemap *map, uint32_t list,
                            unsigned depth, struct failure *failure);

/* Reads tokens; sources and names are known. */
int sourcemap_read_mappings(struct sourcemap *map, struct symc_string mappings,
                            struct failure *failure);

/* Makes room for as many tokens as there are, and n more. */
int sourcemap_need_tokens(struct sourcemap *map, size_t n,
                          struct failure *failure);
void sourcemap_free_tokens(struct sourcemap *map);

/* Sorts the tokens by their places; equal ones keep their order. */
void sourcemap_sort(struct sourcemap *map);

/* Reads the functions of Hermes from x_facebook_sources. */
int sourcemap_read_functions(struct sourcemap *map, uint32_t list,
                             struct failure *failure);
