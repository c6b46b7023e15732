/*
 * Copyright (C) the ngx_symcache authors
 */
#include "format.h"

#include <string.h>

#include "derived/symcache/symcache.h"

int format_finish(struct symc_writer *writer,
                  const struct symc_identity *identity,
                  const struct symc_sink *sink,
                  struct debuginfo_result *result, struct failure *failure)
{
    memcpy(result->guid, identity->guid, sizeof(result->guid));
    result->age = identity->age;
    return failure_writer(failure, symc_writer_finish(writer, identity, sink));
}
