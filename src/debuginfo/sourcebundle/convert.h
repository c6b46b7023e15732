/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef DEBUGINFO_SOURCEBUNDLE_CONVERT_H
#define DEBUGINFO_SOURCEBUNDLE_CONVERT_H

#include "debuginfo/format.h"

/* All texts of a bundle. */
#define SOURCEBUNDLE_TEXTS_MAX ((uint64_t)1 << 30)

extern const struct debuginfo_format sourcebundle_format;

#endif
