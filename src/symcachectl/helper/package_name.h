/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <stdbool.h>

#include "proto/key.h"

/*
 * Names a package of split DWARF, PROGRAM.dwp, by the id of the program beside
 * it, as the id is in that alone: <debug id>.dwp.  Returns false if there is no
 * such program.
 */
bool package_name(const char *path, char name[SYMCACHE_NAME_MAX + 1]);
