/*
 * Copyright (C) the ngx_symcache authors
 *
 * Pages of the daemon itself, as symcached has them: /metrics, /healthz and
 * /version.
 */
#pragma once

#include "http/http.h"
#include "worker_thread.h"

/* Answers a request for a page; false: there is no such page. */
bool daemon_page_reply(const struct workers *workers,
                       struct http_request *request);
