/*
 * Copyright (C) the ngx_symcache authors
 *
 * Artifacts: files in bundles, and files of their own, of the source that a
 * request of POST /symbolicate-js brings; or bundles that were uploaded here.
 */
#pragma once

#include "js_files.h"

/* Asks which artifacts there are for a file, in which that is noted.  Returns
 * false while it is pending. */
bool js_artifacts_ask(struct js_files *files, struct symc_string url,
                      const char *debug_id, struct js_file *file);

/*
 * Looks for a file among those that are known: in the bundles by its debug id
 * and type, then by the names of its URL, then among the others.  Returns
 * false if it is none of them.
 */
bool js_artifacts_find(struct js_files *files, enum sourcecache_type type,
                       struct symc_string url, const char *debug_id,
                       struct js_file *file);
