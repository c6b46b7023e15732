/*
 * Copyright (C) the ngx_symcache authors
 *
 * Clients of Sentry ask whether their token is valid, and whose it is.  The
 * scope is that of tokens which Sentry makes for builds.
 */
#ifndef SYMCACHED_SERVER_SENTRY_TOKEN_H
#define SYMCACHED_SERVER_SENTRY_TOKEN_H

struct evhttp_request;

/* sentry-cli: "info" */
void sentry_token(const char *user, struct evhttp_request *req);

/* the client in TypeScript: "info" and "auth whoami" */
void sentry_user(const char *user, struct evhttp_request *req);

#endif
