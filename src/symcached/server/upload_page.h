/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pages by which nginx passes uploads on:
 *
 *   PUT  /v1/uploads/<name>/<id>/<file>   one file
 *   HEAD                                  the size of such a file
 *   POST /v1/uploads                      an archive, in the form of Tecken
 *   PUT  /v1/uploads                      a package, in that of NuGet
 *
 * The body is in a file that a header names, so these requests have none.
 */
#pragma once

#include <stdbool.h>
#include "upload_token.h"

/* The path of the file that nginx has put the body into. */
#define UPLOAD_HEADER_BODY "X-Symcached-Body"

/* The scheme and host of the server as its client has them. */
#define UPLOAD_HEADER_URL "X-Symcached-Url"

struct config;
struct evhttp_request;
struct symstore_path;
struct url_path;
struct uploads;

/*
 * Takes an upload, and answers when it is done.  query is that of the URL, or
 * NULL.
 */
void upload_page(struct uploads *uploads, const struct config *config,
                 const struct url_path *target, const char *query,
                 struct evhttp_request *req);

#define UPLOAD_RETRY_SECONDS "15"

/* An answer with a status that may be another one later has Retry-After. */
void upload_add_retry(struct evhttp_request *req, int status);

/* Spells a path of three parts as symstore_path_read() does for that of a PUT.
 * Returns false if nothing can be stored there. */
bool upload_place_spell(struct symstore_path *place,
                        const char *const parts[3]);

#define UPLOAD_BOUNDARY_SIZE 72

/* Reads the boundary of a form's Content-Type (RFC 2046).  Returns false if it
 * has none. */
bool upload_boundary_read(struct evhttp_request *req,
                          char boundary[UPLOAD_BOUNDARY_SIZE]);

/* GET /v1/unread: nginx could not write the body of an upload. */
void unread_page(struct evhttp_request *req);

/* POST /v1/discard/<name>/<id>/<file>[?try=1]: removes an uploaded file, for an
 * operator. */
void discard_page(struct uploads *uploads, const struct config *config,
                  const struct url_path *target, const char *query,
                  struct evhttp_request *req);

/*
 * POST /v1/changed/<name>/<id>/<file>?from=ID[&try=1][&same=1][&late=1]
 * [&keep=1][&made=1]:
 * another machine of the fleet, of that id, has taken the file, or has removed
 * it; or with "same" it only keeps it from now on, and with "made" the tier may
 * have got what was made of a former file.
 */
void changed_page(struct uploads *uploads, const struct config *config,
                  const struct url_path *target, const char *query,
                  struct evhttp_request *req);
