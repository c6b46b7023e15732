/*
 * Copyright (C) the ngx_symcache authors
 *
 * Permissions of clients on the helper's sockets.
 */
#pragma once

#include <stdbool.h>

struct config;
struct evhttp_request;

/* The right that a page needs; each includes the ones before it. */
enum right {
    RIGHT_LOOKUP, /* tells of one key, and nothing of where it comes from */
    RIGHT_READ,   /* tells what goes on, with the places of sources */
    RIGHT_UPLOAD, /* sends files, with a token if there are any */
    RIGHT_ADMIN   /* changes what is remembered or done */
};

/* The socket that a request came by. */
enum rights_socket {
    RIGHTS_LISTEN,      /* "listen", and it is the only one */
    RIGHTS_LISTEN_ONLY, /* "listen" beside "admin_listen" */
    RIGHTS_UPLOADS,     /* "uploads.listen" */
    RIGHTS_ADMIN        /* "admin_listen", which file permissions protect */
};

/*
 * Returns whether the client may ask for a page.  Otherwise answers with 401
 * or 403 and the reason.
 *
 * On "admin_listen" every client that can connect may do everything, and on
 * "uploads.listen" it may upload, and nothing else.  On "listen" the client
 * must send "listen_token", if there is one.  Then every client may look files
 * up; reading needs a Unix socket or the token.  The rest is allowed if there
 * is no "admin_listen", on a Unix socket to root and the helper's own user,
 * over TCP with the token.
 */
bool rights_check(const struct config *config, enum rights_socket socket,
                  enum right right, struct evhttp_request *req);
