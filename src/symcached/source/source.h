/*
 * Copyright (C) the ngx_symcache authors
 *
 * Sources: looking for the PDB of a key, what each source answered so far, and
 * where a layout keeps its files.
 */
#ifndef SYMCACHED_SOURCE_H
#define SYMCACHED_SOURCE_H

#include "layout.h"
#include "tier_redirect.h"
#include "lookup.h"
#include "source_stats.h"
#include "sources.h"
#include "via_header.h"

#endif
