/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /symbolicate-any: a crash report that is somewhere else.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_REMOTE_REPORT_H
#define SYMBOLICATED_API_SYMBOLICATOR_REMOTE_REPORT_H

#include "symbolicated/api/api.h"

/* The call of a request whose type was checked.  NULL: the reply is complete
 * already. */
struct api_call *remote_report_begin(const struct api_request *request,
                                     const char *scope,
                                     struct api_reply *reply);

#endif
