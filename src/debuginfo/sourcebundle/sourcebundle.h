/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source bundles: ZIP archives of source files with a manifest, of one native
 * module, of a program of Java's, or of scripts of a web page.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "debuginfo/format.h"

#include "identity.h"
#include "manifest.h"

/* All texts of a bundle. */
#define SOURCEBUNDLE_TEXTS_MAX ((uint64_t)1 << 30)

extern const struct debuginfo_format sourcebundle_format;

/*
 * Whether the scripts and source maps of a bundle can be used: looks for maps
 * that cannot be read, for scripts with a debug id whose map is not in the
 * bundle, and the other way round, and for files that contain another debug id
 * than the bundle states.  Returns how many files have something wrong, with
 * the first ones and their reasons in text; also 0 if the data is not a bundle,
 * or too large to check.
 */
size_t sourcebundle_scripts_check(const uint8_t *data, size_t size, char *text,
                                  size_t text_size);
