/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploads as a source of type "sentry" asks for them:
 *
 *   ?debug_id=ID&code_id=ID   a list of files, at most 20, as JSON:
 *                             {"id", "symbolType", "objectName", "size"}
 *   ?id=ID                    one of them, which nginx sends (X-Accel-Redirect)
 *
 * The id of a file is its path below "uploads.root", so it does not change its
 * meaning.
 */
#ifndef SYMCACHED_SERVER_SENTRY_FILES_H
#define SYMCACHED_SERVER_SENTRY_FILES_H

#include <stdbool.h>

struct config;
struct evhttp_request;

/* Where nginx has the folder of uploads for itself. */
#define SENTRY_FILES_LOCATION "/.uploads/"

/* Answers a query; with only_try it is about uploads of try builds. */
void sentry_files(const struct config *config, bool only_try,
                  const char *query, struct evhttp_request *req);

#endif
