/*
 * Copyright (C) the ngx_symcache authors
 *
 * What routes.c begins, by the path.  Each returns the call of a request
 * whose type was checked, or NULL: the reply is complete already.
 */
#pragma once

#include "symbolicated/api/api.h"

struct api_call *js_begin(const struct api_request *request, const char *scope,
                          struct api_reply *reply);

struct api_call *jvm_begin(const struct api_request *request,
                           const char *scope, struct api_reply *reply);

/* It waits so many milliseconds for the answer. */
struct api_call *poll_begin(const char *id, uint64_t wait,
                            struct api_reply *reply);

struct api_call *remote_report_begin(const struct api_request *request,
                                     const char *scope,
                                     struct api_reply *reply);
