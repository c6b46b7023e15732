/*
 * Copyright (C) the ngx_symcache authors
 *
 * What comments of a script refer to: its map, and a debug id.  The rules are
 * Symbolicator's.
 */
#ifndef SYMBOLICATION_JS_REFERENCE_H
#define SYMBOLICATION_JS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "derived/symcache/symcache.h"

/* The location of a script's map: the text after the last "//#
 * sourceMappingURL=" or "//@ sourceMappingURL=", up to white space, "?" and
 * "#"; for a "data:" URL up to white space.  Absent if there is none. */
struct symc_string js_reference(const char *script, size_t size);

/* The debug id that follows the last "//# debugId=" of a script, as it stands
 * there; absent if there is none. */
struct symc_string js_debug_id(const char *script, size_t size);

bool js_is_data_url(struct symc_string url);

/*
 * Writes what a "data:" URL has, in Base64 or percent-encoded, which is no
 * longer than the URL itself.  Returns false if it is not valid, or no UTF-8.
 */
bool js_data_url_read(struct symc_string url, char *text, size_t *size);

#endif
