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
#pragma once

#include <stdbool.h>

struct config;
struct evhttp_request;

/* Where nginx has the folder of uploads for itself. */
#define SENTRY_FILES_LOCATION "/.uploads/"

/*
 * GET projects/<org>/<project>/artifact-lookup:
 *
 *   ?debug_id=ID               bundles of scripts that have it,
 *   ?release=TEXT&dist=TEXT    or that are of a release, as JSON:
 *                              {"type": "bundle", "id", "url",
 * "resolved_with"} ?download=ID               one of them
 *
 * url is the address of the page as its client has it.
 */
void sentry_artifacts(const struct config *config, bool only_try,
                      const char *url, const char *query,
                      struct evhttp_request *req);

/* Answers a query; with only_try it is about uploads of try builds. */
void sentry_files(const struct config *config, bool only_try,
                  const char *query, struct evhttp_request *req);
