/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /minidump: a worker reads the form and walks the stacks, and what it
 * comes to is answered as a request of POST /symbolicate is.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_MINIDUMP_H
#define SYMBOLICATED_API_SYMBOLICATOR_MINIDUMP_H

#include "symbolicated/api/api.h"

/* The call of a request.  NULL: the reply is complete already. */
struct api_call *minidump_begin(const struct api_request *request,
                                const char *scope, struct api_reply *reply);

#endif
