/*
 * Copyright (C) the ngx_symcache authors
 *
 * HTTP for daemons: the listening socket, answers, and connections whose
 * answer takes long.
 */
#ifndef HTTP_H
#define HTTP_H

#include "detached.h"
#include "listener.h"
#include "reply.h"

#endif
