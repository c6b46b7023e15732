/*
 * Copyright (C) the ngx_symcache authors
 *
 * What answers tell of why there is no file.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_WHY_H
#define SYMBOLICATED_API_SYMBOLICATOR_WHY_H

#include "symbolicated/api/api.h"

/* What has become of a module, in words; NULL: it is pending. */
const char *why_state(const struct api_module *module);

/* Writes the member "attempts": what the sources said, an HTTP status for
 * example, and not where they are, which is the operator's. */
void why_attempts_write(struct json_writer *w,
                        const struct api_module *module);

#endif
