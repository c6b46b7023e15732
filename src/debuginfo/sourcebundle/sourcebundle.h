/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source bundles: ZIP archives of source files with a manifest, of one native
 * module, of a program of Java's, or of scripts of a web page.
 */
#ifndef DEBUGINFO_SOURCEBUNDLE_SOURCEBUNDLE_H
#define DEBUGINFO_SOURCEBUNDLE_SOURCEBUNDLE_H

#include "debuginfo/format.h"

#include "identity.h"
#include "manifest.h"
#include "script_check.h"

/* All texts of a bundle. */
#define SOURCEBUNDLE_TEXTS_MAX ((uint64_t)1 << 30)

extern const struct debuginfo_format sourcebundle_format;

#endif
