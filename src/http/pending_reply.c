/*
 * Copyright (C) the ngx_symcache authors
 */

#include "pending_reply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <event2/bufferevent.h>
#include <event2/event_struct.h>
#include "base/log.h"
#include "base/fd_readable.h"
#include "evhttp_gate.h"
#include "socket_peer.h"

struct pending_reply {
    struct event readable;
    struct socket_peer *peer;
    void (*gone)(void *arg);
    void *arg;
};

static void pending_on_readable(evutil_socket_t fd, short events, void *arg)
{
    struct pending_reply *pending = arg;

    if (!fd_is_readable(fd) && event_add(&pending->readable, NULL) == 0) {
        return;
    }
    pending->gone(pending->arg);
}

/*
 * Takes the socket from evhttp.  As evhttp shuts down and closes its descriptor
 * in any case, the socket moves to a new one, and the old one is replaced by
 * /dev/null.  Returns the new descriptor, or -1.
 */
static int pending_take_socket(struct bufferevent *bev)
{
    int fd = bufferevent_getfd(bev), null, own;

    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null == -1) {
        return -1;
    }
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own != -1) {
        bufferevent_disable(bev, EV_READ | EV_WRITE);
        if (dup3(null, fd, O_CLOEXEC) == -1) {
            close(own);
            own = -1;
        }
    }
    close(null);
    return own;
}

struct pending_reply *pending_reply_new(struct event_base *base,
                                        struct evhttp_request *req,
                                        void (*gone)(void *arg), void *arg)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(req);
    struct bufferevent *bev = evhttp_connection_get_bufferevent(connection);
    struct pending_reply *pending;
    int fd;

    if (evbuffer_get_length(bufferevent_get_input(bev)) > 0) {
        return NULL; /* part of the next request is already here */
    }
    pending = malloc(sizeof(*pending));
    if (pending == NULL) {
        return NULL;
    }
    fd = pending_take_socket(bev);
    if (fd == -1) {
        free(pending);
        return NULL;
    }

    gate_release(connection);
    evhttp_connection_free(connection);

    pending->peer = socket_peer_enter(fd);
    pending->gone = gone;
    pending->arg = arg;
    event_assign(&pending->readable, base, fd, EV_READ, pending_on_readable,
                 pending);
    event_add(&pending->readable, NULL);
    return pending;
}

bool pending_reply_send(struct pending_reply *pending, struct evbuffer *part)
{
    int fd = event_get_fd(&pending->readable);

    return evbuffer_write(part, fd) != -1 && evbuffer_get_length(part) == 0;
}

void pending_reply_answer(struct pending_reply *pending,
                          struct evbuffer *answer)
{
    /* nothing else waits in the socket's buffer, so it has enough room */
    if (!pending_reply_send(pending, answer)) {
        log_info(EVUTIL_SOCKET_ERROR(), "an answer cannot be sent");
    }
    pending_reply_free(pending);
}

void pending_reply_hand(struct pending_reply *pending, struct evbuffer *answer,
                        int fd)
{
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    size_t size = evbuffer_get_length(answer);
    struct iovec piece = {evbuffer_pullup(answer, -1), size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    struct cmsghdr *head;

    if (fd != -1) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd, sizeof(int));
    }
    if (sendmsg(event_get_fd(&pending->readable), &message, MSG_NOSIGNAL) !=
        (ssize_t)size) {
        log_info(errno, "an answer cannot be sent");
    }
    pending_reply_free(pending);
}

void pending_reply_free(struct pending_reply *pending)
{
    int fd = event_get_fd(&pending->readable);

    event_del(&pending->readable);
    socket_peer_leave(pending->peer);
    close(fd);
    free(pending);
}
