/*
 * Copyright (C) the ngx_symcache authors
 *
 * GET /requests/{id}: the answer of a request that was pending.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_POLL_REQUEST_H
#define SYMBOLICATED_API_SYMBOLICATOR_POLL_REQUEST_H

#include "symbolicated/api/api.h"

/* A call that waits so many milliseconds for the answer.  NULL: the reply is
 * complete already. */
struct api_call *poll_begin(const char *id, uint64_t wait,
                            struct api_reply *reply);

#endif
