/*
 * Copyright (C) the ngx_symcache authors
 *
 * "scraping.allowed_origins" of a request: which files of the web it lets be
 * fetched.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_JS_ORIGINS_H
#define SYMBOLICATED_API_SYMBOLICATOR_JS_ORIGINS_H

#include "js_request.h"

/* NULL: the origins of the request allow a URL; else why not, which may be
 * "". */
const char *js_origins_refuse(const struct js_request *request,
                              struct symc_string url);

#endif
