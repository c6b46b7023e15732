/*
 * Copyright (C) the ngx_symcache authors
 *
 * A cabinet as a symbol server keeps it: one folder, one file, complete in
 * itself.  Everything else is refused before libmspack sees it.
 */
#ifndef SYMCACHED_UNPACK_CABINET_H
#define SYMCACHED_UNPACK_CABINET_H

#include <stddef.h>
#include "symcached/space/space.h"

/*
 * Unpacks the only member of the cabinet in descriptor `in`, whose name does
 * not count.  Returns 0, or -1 with a sentence in error; sink->error is set
 * if the fault was not the cabinet's.
 */
int cabinet_unpack(int in, struct sink *sink, char *error, size_t size);

#endif
