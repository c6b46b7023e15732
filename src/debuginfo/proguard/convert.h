/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes a ProguardCache of a mapping.
 */
#ifndef DEBUGINFO_PROGUARD_CONVERT_H
#define DEBUGINFO_PROGUARD_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format proguard_format;

/* Makes a ProguardCache of any text, also of one that proguard_sniff() does not
 * take for a mapping.  Returns 0, or -1 with failure set. */
int proguard_convert(const uint8_t *data, size_t size,
                     const struct symc_sink *sink, struct failure *failure);

#endif
