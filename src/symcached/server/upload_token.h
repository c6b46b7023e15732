/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tokens of clients that upload ("uploads.tokens").
 */
#pragma once

#include <stdbool.h>

#define UPLOAD_HEADER_TOKEN "Auth-Token"

struct config;
struct evhttp_request;

#define UPLOAD_USER_SIZE 128

/*
 * May a client upload that sends this token, or NULL?  What follows "-" is a
 * label.  All are compared, so that the time does not tell which one was near.
 * Sets the user, who is "-" where nginx asks, and what the token is for.  A
 * refusal is counted, and logged now and then.
 */
bool upload_token_check(const struct config *config,
                        struct evhttp_request *req, const char *value,
                        char user[UPLOAD_USER_SIZE], bool *only_try);

/* May the user of an upload that a token has begun still do so?  The tokens may
 * be others since.  A refusal is counted. */
bool upload_user_check(const struct config *config, const char *user,
                       bool only_try);
