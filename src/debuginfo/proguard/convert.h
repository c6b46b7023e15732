/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes a ProguardCache of a mapping.
 */
#ifndef DEBUGINFO_PROGUARD_CONVERT_H
#define DEBUGINFO_PROGUARD_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format proguard_format;

#endif
