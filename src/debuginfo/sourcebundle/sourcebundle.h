/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source bundles: ZIP archives of source files with a manifest, of one native
 * module, of a program of Java's, or of scripts of a web page.
 */
#ifndef DEBUGINFO_SOURCEBUNDLE_SOURCEBUNDLE_H
#define DEBUGINFO_SOURCEBUNDLE_SOURCEBUNDLE_H

#include "convert.h"
#include "identity.h"
#include "manifest.h"
#include "scripts.h"

#endif
