/*
 * Copyright (C) the ngx_symcache authors
 *
 * The uploads on this machine that have a build id.
 */
#pragma once

#include "config/config.h"

#include "results.h"

/*
 * Adds the debug file and the programs with a build id of a store's uploads.
 * Slow: call it in a thread.  Returns false if some could not be looked for.
 */
bool stored_uploads_add(struct results *results, const struct config *config,
                        const char *build_id);
