/*
 * Copyright (C) the ngx_symcache authors
 *
 * Which files of the web a request lets be fetched.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_JS_ORIGIN_H
#define SYMBOLICATED_API_SYMBOLICATOR_JS_ORIGIN_H

#include "js_request.h"

/* Is a text an absolute URL, of whatever scheme? */
bool js_is_url(struct symc_string text);

/* NULL: the origins of the request allow a URL; else why not, which may be
 * "". */
const char *js_origin_refuses(const struct js_request *request,
                              struct symc_string url);

#endif
