/*
 * Copyright (C) the ngx_symcache authors
 *
 * The instructions that are in a Mach-O image.
 */
#ifndef DEBUGINFO_MACHO_INSTRUCTIONS_H
#define DEBUGINFO_MACHO_INSTRUCTIONS_H

#include "debuginfo/machine_code.h"

/* Writes a CodeCache, as the convert of a struct debuginfo_maker does. */
int macho_code_convert(const uint8_t *data, size_t size,
                       const struct symc_sink *sink,
                       struct debuginfo_result *result,
                       struct failure *failure);

#endif
