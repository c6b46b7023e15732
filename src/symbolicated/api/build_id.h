/*
 * Copyright (C) the ngx_symcache authors
 *
 * Modules of which only a build id is known.
 */
#pragma once

#include "api.h"

/*
 * Has an ELF file looked for that has this build id, or a hash looked for as
 * it is: a debug id is made of the build id, which the hints of the module then
 * have.  These are to be freed.  Returns 0, or -1 without memory.
 */
int build_id_module(struct api_module *module, const symcache_key_t *id);
