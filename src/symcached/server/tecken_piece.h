/*
 * Copyright (C) the ngx_symcache authors
 *
 * The pieces in which clients of Tecken's protocol send a file.
 */
#ifndef SYMCACHED_SERVER_TECKEN_PIECE_H
#define SYMCACHED_SERVER_TECKEN_PIECE_H

struct config;
struct evhttp_request;
struct tecken_session;

/* Takes a piece of a session's file, and answers; with the last one the file is
 * uploaded first. */
void tecken_piece_take(struct tecken_session *session,
                       const struct config *config,
                       struct evhttp_request *req);

#endif
