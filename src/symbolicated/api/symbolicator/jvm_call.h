/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /symbolicate-jvm: events of programs for the JVM that ProGuard or R8
 * has shrunk.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_JVM_CALL_H
#define SYMBOLICATED_API_SYMBOLICATOR_JVM_CALL_H

#include "symbolicated/api/api.h"

/* The call of a request whose type was checked.  NULL: the reply is complete
 * already. */
struct api_call *jvm_begin(const struct api_request *request,
                           const char *scope, struct api_reply *reply);

#endif
