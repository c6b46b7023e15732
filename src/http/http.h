/*
 * Copyright (C) the ngx_symcache authors
 *
 * HTTP for daemons: the listening socket; for symbolicated a server; for
 * symcached, whose server is evhttp, what watches its connections, answers, and
 * connections whose answer takes long.
 */
#pragma once

#include "pending_reply.h"
#include "evhttp_gate.h"
#include "listener.h"
#include "reply.h"
#include "request_fields.h"
#include "server.h"
