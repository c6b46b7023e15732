/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /symbolicate-js: stacks of scripts become those of their originals.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_JS_CALL_H
#define SYMBOLICATED_API_SYMBOLICATOR_JS_CALL_H

#include "symbolicated/api/api.h"

/* Begins the call of a request whose body is JSON.  NULL: the reply is
 * complete. */
struct api_call *js_begin(const struct api_request *request, const char *scope,
                          struct api_reply *reply);

#endif
