/*
 * Copyright (C) the ngx_symcache authors
 *
 * GET /v1/find?q=TEXT: is a symbol there?  TEXT is the name of a module or an
 * id of one, as a debugger, a crash report or a build prints it.  The answer
 * lists the files that this machine has, among uploads, downloads and in
 * stores, and for each store the sources that a lookup would ask.
 */
#ifndef SYMCACHED_SERVER_FIND_PAGE_H
#define SYMCACHED_SERVER_FIND_PAGE_H

struct config;
struct evhttp_request;

void find_page(const struct config *config, const char *query,
               struct evhttp_request *req);

#endif
