/*
 * Copyright (C) the ngx_symcache authors
 *
 * Mappings of ProGuard and R8: text that says which classes and methods of a
 * program have which names since it was shrunk.
 */
#pragma once

#include "debuginfo/format.h"

#include "comment.h"
#include "record.h"

/* Makes a ProguardCache of a mapping. */
extern const struct debuginfo_format proguard_format;

/* Makes a ProguardCache of any text, also of one that proguard_sniff() does not
 * take for a mapping.  Returns 0, or -1 with failure set. */
int proguard_convert(const uint8_t *data, size_t size,
                     const struct symc_sink *sink, struct failure *failure);
