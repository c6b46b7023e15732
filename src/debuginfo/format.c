/*
 * Copyright (C) the ngx_symcache authors
 */
#include "format.h"

#include <string.h>

#include "derived/symcache/symcache.h"

int format_finish(struct symfile_writer *writer,
                  const struct symfile_identity *identity,
                  const struct symfile_sink *sink,
                  struct debuginfo_result *result, struct failure *failure)
{
    memcpy(result->guid, identity->guid, sizeof(result->guid));
    result->age = identity->age;
    return failure_writer(failure,
                          symfile_writer_finish(writer, identity, sink));
}
