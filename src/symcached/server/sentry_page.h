/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pages by which Sentry's clients upload, below /v1/sentry, for which
 * nginx has /api/0 of their server:
 *
 *   GET  organizations/<org>/chunk-upload      how they are to send
 *   POST organizations/<org>/chunk-upload      chunks of files, as a form
 *   POST projects/<org>/<project>/files/difs/assemble
 *                                              files of which chunks
 *   POST organizations/<org>/artifactbundle/assemble
 *                                              a bundle of scripts, likewise
 *   GET  projects/<org>/<project>/artifact-lookup
 *                                              bundles, see sentry_files.h
 *   GET  projects/<org>/<project>/files/dsyms  files, see sentry_files.h
 *
 * The names of organization and project count for nothing: there is one store
 * of uploads.  Errors are {"detail": ...}.
 */
#ifndef SYMCACHED_SERVER_SENTRY_PAGE_H
#define SYMCACHED_SERVER_SENTRY_PAGE_H

struct config;
struct evhttp_request;
struct uploads;
struct url_path;

/* Takes a request whose path begins with v1/sentry. */
void sentry_page(struct uploads *uploads, const struct config *config,
                 const struct url_path *path, const char *query,
                 struct evhttp_request *req);

#endif
