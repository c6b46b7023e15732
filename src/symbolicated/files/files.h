/*
 * Copyright (C) the ngx_symcache authors
 *
 * The files of the stores.  Nothing here writes into one in place: one that is
 * cut short is noticed when it is read (sigbus.h), or when
 * mapped_modules_evict_stale() comes to it.
 */
#pragma once

#include "sigbus.h"
#include "module.h"
#include "mapped_modules.h"
#include "module_cache.h"
