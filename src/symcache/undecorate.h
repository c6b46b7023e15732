/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef SYMCACHE_UNDECORATE_H
#define SYMCACHE_UNDECORATE_H

#include <stddef.h>

/*
 * Takes the decoration of a C calling convention off a name: moves *name and
 * shortens *size.  C++ names and names with an argument list stay.
 */
void symfile_undecorate(const char **name, size_t *size);

#endif
