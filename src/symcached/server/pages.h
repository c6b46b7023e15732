/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pages that the server's table lists, each of which answers the request;
 * the files of these names say what clients send.  For this folder only.
 */
#pragma once

#include <event2/event.h>
#include <event2/http.h>
#include <stdbool.h>
#include <time.h>

#include "symcached/guest/guest.h"
#include "symcached/one_time_fetch/one_time_fetch.h"

struct config;
struct event_base;
struct evhttp_request;
struct metadata;
struct pyroscope;
struct ready;
struct scheduler;
struct symuploads;
struct tecken;
struct uploads;
struct url_path;

/* Answers a request that brings its own sources, even if the client has gone
 * meanwhile.  guests is NULL where clients may not bring any. */
void tenant_page(struct guests *guests, struct evhttp_request *req);

/* started is the Unix time of symcached's start. */
void metrics_page(const struct scheduler *scheduler,
                  const struct ready *ready, const struct uploads *uploads,
                  time_t started, struct evhttp_request *req);

void metadata_page(struct metadata *metadata, const struct config *config,
                   const char *query, struct evhttp_request *req);

/*
 * Takes a request, whose body is {"url": ..., "token": ...}; the token may be
 * missing.  The answer is {"coding": ...} with the file, or {"failed": ...}
 * without.  ended is called at the end if the request was taken over.  once is
 * NULL where that is not allowed.
 */
void one_time_fetch_page_start(struct event_base *base,
                               struct one_time_fetches *fetches,
                               const struct config *config,
                               struct evhttp_request *req,
                               void (*ended)(void *arg), void *arg);

/* Ends all. */
void one_time_fetch_pages_stop(void);

void find_page(const struct config *config, const char *query,
               struct evhttp_request *req);

/* Answers for files of the uploads, now or later; ended is called at the end
 * if the request was taken over. */
void symbfile_store_page(struct event_base *base, struct scheduler *scheduler,
                         const struct url_path *target,
                         struct evhttp_request *req,
                         void (*ended)(void *arg), void *arg);

/* Takes a symbfile or a part of one, and answers when that is done. */
void symbfile_upload_page(struct uploads *uploads, const struct config *config,
                          const struct url_path *target,
                          struct evhttp_request *req);

/* Lists the modules that were asked for and had no symbols.  query: that of
 * the URL, or NULL. */
void missing_page(const struct scheduler *scheduler, const char *query,
                  struct evhttp_request *req);

/* The state of uploads between two requests.  NULL when out of memory. */
struct symuploads *symuploads_new(struct uploads *uploads);
void symuploads_free(struct symuploads *symuploads); /* NULL is allowed */

/* Takes a request whose path begins with v1/symupload. */
void symupload_page(struct symuploads *symuploads, const struct config *config,
                    const struct url_path *path, const char *query,
                    struct evhttp_request *req);

/* Returns NULL when out of memory. */
struct pyroscope *pyroscope_new(struct uploads *uploads);
void pyroscope_free(struct pyroscope *pyroscope); /* NULL is allowed */

void pyroscope_page(struct pyroscope *pyroscope, const struct config *config,
                    const struct url_path *path, struct evhttp_request *req);

/* Is this one of these pages? */
bool tecken_has(const struct url_path *path, struct evhttp_request *req);

/* Answers {"error": text}, which clients of Tecken print. */
void tecken_reply_error(struct evhttp_request *req, int status,
                        const char *text);

void tecken_page(struct tecken *tecken, const struct config *config,
                 const struct url_path *path, struct evhttp_request *req);

/* Answers {"detail": detail}, which clients of Sentry print. */
void sentry_reply_error(struct evhttp_request *req, int status,
                        const char *detail);

/* Reads the body of a request for Sentry, which nginx has put into a file, as a
 * JSON object.  size: of its text.  NULL: it has been answered. */
struct cJSON *sentry_read_body(const struct config *config,
                               struct evhttp_request *req, size_t *size);

/*
 * The pages by which Sentry's clients upload, below /v1/sentry, for which
 * nginx has /api/0 of their server:
 *
 *   GET  <nothing>, auth                       whose token it is
 *   GET  organizations/<org>/chunk-upload      how they are to send
 *   POST organizations/<org>/chunk-upload      chunks of files, as a form
 *   POST projects/<org>/<project>/files/difs/assemble
 *                                              files of which chunks
 *   POST organizations/<org>/artifactbundle/assemble
 *                                              a bundle of scripts, likewise
 *   GET  projects/<org>/<project>/artifact-lookup
 *                                              bundles, see sentry_download.h
 *   GET  projects/<org>/<project>/files/dsyms  files, see sentry_download.h
 *   .../releases/...                           see sentry_releases.h
 *
 * The names of organization and project count for nothing: there is one store
 * of uploads.
 */
void sentry_page(struct uploads *uploads, const struct config *config,
                 const struct url_path *path, const char *query,
                 struct evhttp_request *req);
