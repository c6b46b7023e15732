/*
 * Copyright (C) the ngx_symcache authors
 *
 * URLs "data:", in which maps of scripts come.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "derived/symcache/symcache.h"

bool js_is_data_url(struct symc_string url);

/*
 * Writes what a "data:" URL has, in Base64 or percent-encoded, which is no
 * longer than the URL itself.  Returns false if it is not valid, or no UTF-8.
 */
bool js_data_url_read(struct symc_string url, char *text, size_t *size);
