/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pages by which nginx passes on what profilers' tools send, as Elastic's
 * symbolizer takes it:
 *
 *   POST /v1/symbols-ranges
 *   POST /v1/symbols-returnpads
 *   GET  /v1/symbols/missing?since=TIME
 *
 * with the headers FileID, FilePart and FileParts, and "Authorization:
 * APIKey". The body is in a file that a header names, as of other uploads.
 */
#ifndef SYMCACHED_SERVER_SYMBFILE_UPLOAD_PAGE_H
#define SYMCACHED_SERVER_SYMBFILE_UPLOAD_PAGE_H

struct config;
struct evhttp_request;
struct url_path;
struct scheduler;
struct uploads;

/* Takes a symbfile or a part of one, and answers when that is done. */
void symbfile_upload_page(struct uploads *uploads, const struct config *config,
                          const struct url_path *target,
                          struct evhttp_request *req);

/* Lists the modules that were asked for and had no symbols.  query: that of
 * the URL, or NULL. */
void missing_page(const struct scheduler *scheduler, const char *query,
                  struct evhttp_request *req);

#endif
