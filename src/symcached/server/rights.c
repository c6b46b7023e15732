/*
 * Copyright (C) the ngx_symcache authors
 */

#include "rights.h"

#include <sys/socket.h>
#include <unistd.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include "base/secret.h"
#include "config/config.h"
#include "http/http.h"
#include "url_path.h"

static bool sends_token(struct evhttp_request *req, const char *token)
{
    const char *value = request_credentials(req, "Bearer");

    return value != NULL && secret_is_equal(value, token);
}

static int rights_socket(struct evhttp_request *req)
{
    return bufferevent_getfd(evhttp_connection_get_bufferevent(
        evhttp_request_get_connection(req)));
}

static bool is_unix(int fd)
{
    int domain;
    socklen_t size = sizeof(domain);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           domain == AF_UNIX;
}

/* Is the client root, or our own user?  The kernel has noted the user that
 * connected. */
static bool is_own(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

/* Returns NULL, or why a page is not for a client that has sent the token, if
 * there is one. */
static const char *refusal_text(bool has_token, enum rights_socket socket,
                                enum right right, int fd)
{
    bool is_local = is_unix(fd);

    if (right == RIGHT_LOOKUP) {
        return NULL;
    }
    if (!is_local && !has_token) {
        return "only lookups are answered over TCP without \"listen_token\"";
    }
    if (right == RIGHT_READ) {
        return NULL;
    }
    if (socket == RIGHTS_LISTEN_ONLY) {
        return "this is answered on the socket of \"admin_listen\" only";
    }
    return !is_local || is_own(fd)
               ? NULL
               : "without \"admin_listen\" only root and the user of symcached "
                 "may do this";
}

bool rights_check(const struct config *config, enum rights_socket socket,
                  enum right right, struct evhttp_request *req)
{
    const char *token = config->listen_token, *why;

    if (socket == RIGHTS_ADMIN ||
        (socket == RIGHTS_UPLOADS && right == RIGHT_UPLOAD)) {
        return true;
    }
    if (socket == RIGHTS_UPLOADS) {
        url_path_refuse(
            req, 403, "forbidden",
            "this socket, of \"uploads.listen\", takes uploads only");
        return false;
    }
    if (token != NULL && !sends_token(req, token)) {
        reply_header(req, "WWW-Authenticate", "Bearer realm=\"symcached\"");
        url_path_refuse(req, 401, "no-token",
                        "requests here need \"Authorization: Bearer\" and the "
                        "token of \"listen_token\"");
        return false;
    }
    why = refusal_text(token != NULL, socket, right, rights_socket(req));
    if (why != NULL) {
        url_path_refuse(req, 403, "forbidden", why);
    }
    return why == NULL;
}
