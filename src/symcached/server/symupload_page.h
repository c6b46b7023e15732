/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pages by which Breakpad's symupload uploads with -p sym-upload-v2, below
 * /v1/symupload, for which nginx has /v1 of its server:
 *
 *   GET  symbols/<file>/<id>:checkStatus?key=TOKEN    is it there?
 *   POST uploads:create?key=TOKEN                     where to send one
 *   PUT  uploads/<upload key>:send                    the file
 *   POST uploads/<upload key>:complete?key=TOKEN      what became of it
 *
 * The client looks for members of the answers by patterns: exactly one blank
 * stands behind a colon.  Its token is in the query, there is no header.
 */
#ifndef SYMCACHED_SERVER_SYMUPLOAD_PAGE_H
#define SYMCACHED_SERVER_SYMUPLOAD_PAGE_H

struct config;
struct evhttp_request;
struct symuploads;
struct uploads;
struct url_path;

/* The state of uploads between two requests.  NULL when out of memory. */
struct symuploads *symuploads_new(struct uploads *uploads);
void symuploads_free(struct symuploads *symuploads); /* NULL is allowed */

/* Takes a request whose path begins with v1/symupload. */
void symupload_page(struct symuploads *symuploads, const struct config *config,
                    const struct url_path *path, const char *query,
                    struct evhttp_request *req);

#endif
