/*
 * Copyright (C) the ngx_symcache authors
 *
 * Files that are fetched from the web, as no artifact has them.
 */
#pragma once

#include "js_files.h"

/* Fetches the file at a URL, if the request allows that. */
void js_scraping_find(struct js_files *files, struct symc_string url,
                      struct js_file *file);

/* Adds the attempt that the answer tells of a file with a URL; reason and
 * details as in struct js_attempt. */
void js_scraping_note(struct js_files *files, struct symc_string url,
                      const char *reason, const char *details,
                      bool is_success);
