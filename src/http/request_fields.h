/*
 * Copyright (C) the ngx_symcache authors
 *
 * Fields of the head of a request that libevent has read.
 */
#pragma once

#include <event2/http.h>

/* A header of the request, or NULL. */
const char *request_header(struct evhttp_request *req, const char *name);

/* What follows this scheme in the header Authorization, or NULL. */
const char *request_credentials(struct evhttp_request *req,
                                const char *scheme);

#define REQUEST_PAIR_MAX 1024 /* encoded or not */

/*
 * Decodes that, if it is "name:secret" in base64 of either alphabet, with
 * padding or without.  Returns the secret, and pair is the name; or NULL.
 */
char *request_pair(struct evhttp_request *req, const char *scheme,
                   char pair[REQUEST_PAIR_MAX]);
