/*
 * Copyright (C) the ngx_symcache authors
 *
 * The key "map" of a source: where what a file.ptr names is on this machine.
 */
#pragma once

#include <stddef.h>

/* maps "\\\\srv\\sym" or "X:\\" in a file.ptr to a local directory */
struct map_config {
    char *from;
    char *to;
};

/*
 * Maps a Windows location by the longest prefix in the table that ends at a
 * component boundary.  Case is ignored, and "/" and "\" are equal.  A relative
 * location is below `base`, or an error if that is NULL.  Sets *root to the
 * local directory, and rel to the rest with "/" between its components, none
 * of which is empty, "." or "..".  Returns NULL, or the reason why it failed.
 */
const char *config_map_location(const struct map_config *map, size_t nmap,
                                const char *base, const char *location,
                                const char **root, char *rel);
