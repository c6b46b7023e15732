/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that are fetched from the web, as no artifact has them.
 */
#pragma once

#include "js_files.h"

/* NULL, or a static sentence about what is wrong with the origins that a
 * request allows. */
const char *js_origins_mistake(const struct js_request *request);

/* Fetches the file at a URL, if the request allows that.  One that is empty or
 * not UTF-8 is missing, but for a map, which its conversion finds malformed. */
void js_scraping_find(struct js_files *files, enum sourcecache_type type,
                      struct symc_string url, struct js_file *file);

/* Adds the attempt that the answer tells of a file with a URL; reason and
 * details as in struct js_attempt. */
void js_scraping_note(struct js_files *files, struct symc_string url,
                      const char *reason, const char *details,
                      bool is_success);
