/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <stddef.h>

/*
 * Removes the decoration of a C calling convention from a name, by changing
 * *name and *size.  C++ names and names with an argument list are not changed.
 */
void symc_undecorate(const char **name, size_t *size);
