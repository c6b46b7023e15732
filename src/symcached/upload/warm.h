/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts an uploaded file before a client asks for the result.
 */
#pragma once

#include <stdbool.h>
#include "debuginfo/identity/identity.h"

struct scheduler;

/* Starts a job for each kind that the stores make of the file, under the key by
 * which clients ask for it. */
void warm_file(struct scheduler *scheduler, const struct symstore_path *place,
               bool is_try);
