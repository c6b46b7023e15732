/*
 * Copyright (C) the ngx_symcache authors
 *
 * What answers tell of why there is no file.
 */
#pragma once

#include "symbolicated/api/api.h"

/* The result for a module, in words; NULL: it is pending. */
const char *absence_state(const struct api_module *module);

/* Writes the member "attempts": the answers of the sources, an HTTP status for
 * example, but not their locations, which only the operator may see. */
void absence_attempts_write(struct json_writer *w,
                            const struct api_module *module);
