/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unpacks a cabinet as symbol servers store it: one folder, one file, complete
 * in itself.  Any other cabinet is refused before libmspack sees it.
 */
#ifndef SYMCACHED_INTAKE_CABINET_H
#define SYMCACHED_INTAKE_CABINET_H

#include <stddef.h>
#include "symcached/space/space.h"

/*
 * Unpacks the only member of the cabinet in descriptor `in`, whatever its name
 * is.  Returns 0; or, with a sentence in error, 1 if it is another cabinet than
 * these, and -1 if it is damaged.  writer->error is set if the cabinet is not
 * at fault.
 */
int cabinet_unpack(int in, struct limited_writer *writer, char *error,
                   size_t size);

#endif
