/*
 * Copyright (C) the ngx_symcache authors
 *
 * BCSymbolMaps: in builds from Apple's bitcode, names are "__hidden#12_", and
 * line 12 of the map is what it was.  The format is known by its readers only:
 * "BCSymbolMap Version: 2.0", then a name in each line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_MAP_SIZE_MAX (512u << 20) /* bytes of a file */

struct symbol_map {
    const char *text;
    uint32_t size;
    uint32_t *lines; /* where each begins */
    uint32_t count;
};

/* Do the first bytes say that a file is one, of any version? */
bool symbol_map_sniff(const uint8_t *data, size_t size);

/* Reads one, whose text must live as long.  Returns 0, or -1 with a sentence
 * in error; then there is nothing to free. */
int symbol_map_open(struct symbol_map *map, const uint8_t *data, size_t size,
                    char *error, size_t error_size);
void symbol_map_close(struct symbol_map *map);

/* Is a text "__hidden#N_" and nothing else? */
bool symbol_map_hides(const char *text, uint32_t size);

/* Replaces a text that is "__hidden#N_" and nothing else by name N.  Returns
 * false, and leaves it alone, if it is another text or there is no such name.
 */
bool symbol_map_resolve(const struct symbol_map *map, const char **text,
                        uint32_t *size);
