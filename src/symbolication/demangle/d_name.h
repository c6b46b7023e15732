/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of D ("_D3app3Foo3barMFiZv" is "app.Foo.bar(int)"), which libiberty
 * takes apart.
 */
#ifndef SYMBOLICATION_D_NAME_H
#define SYMBOLICATION_D_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Could a name be one of D, after its underscores? */
bool d_sniff(const char *name, size_t size);

/*
 * Writes the readable form of a name that ends with a zero and has at most
 * LINKAGE_NAME_MAX bytes into room, which has as many as are told.  Returns
 * its length, or 0 if the name is not understood or its form too long.
 */
size_t d_demangle(const char *name, char *room, size_t most);

#endif
