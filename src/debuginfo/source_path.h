/*
 * Copyright (C) the ngx_symcache authors
 *
 * Paths of source files, of any system, as the "symbolic" library takes them
 * apart.
 */
#ifndef DEBUGINFO_SOURCE_PATH_H
#define DEBUGINFO_SOURCE_PATH_H

#include <stdint.h>

#include "symcache/symcache.h"

/* Directory and name; separators at the end belong to neither. */
void source_path_split(const char *path, uint32_t size,
                       struct symfile_text *directory,
                       struct symfile_text *name);

#endif
