/*
 * Copyright (C) the ngx_symcache authors
 *
 * Splits paths of source files of any system like the "symbolic" library does.
 */
#pragma once

#include <stdint.h>

#include "derived/symcache/symcache.h"

/* Splits a path into directory and name, which point into it.  Separators at
 * its end belong to neither. */
void source_path_split(const char *path, uint32_t size,
                       struct symc_text *directory, struct symc_text *name);
