/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /minidump: a worker reads the form and walks the stacks, and what it
 * comes to is answered as a request of POST /symbolicate is.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_MINIDUMP_H
#define SYMBOLICATED_API_SYMBOLICATOR_MINIDUMP_H

#include "kept.h"
#include "symbolicated/api/api.h"

/* The call of a request.  NULL: the reply is complete already. */
struct api_call *minidump_begin(const struct api_request *request,
                                const char *scope, uint64_t wait,
                                struct api_reply *reply);

/* The call of one that is kept, whose reference is taken over. */
struct api_call *minidump_resume(const struct symbolication_config *config,
                                 struct kept *kept, uint64_t wait,
                                 struct api_reply *reply);

#endif
