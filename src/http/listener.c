/*
 * Copyright (C) the ngx_symcache authors
 */

#include "listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <event2/util.h>
#include "base/fd_close.h"
#include "base/service_manager.h"

/* When the backlog is full, Linux refuses connections to a Unix socket that do
 * not block.  The kernel limits this number to somaxconn. */
#define LISTENER_BACKLOG 4096

/* who may connect to a Unix socket: whoever may write to its file */
#define WRITERS (S_IWUSR | S_IWGRP | S_IWOTH)

/* A child of a daemon that was killed has its sockets until it executes its own
 * program: an address in use is tried for half a second. */
#define LISTENER_TRIES 10
#define PAUSE_NS 50000000

static const struct {
    int errnum;
    const char *text;
} listener_hints[] = {
    {ENOENT, "; make its folder, and let this user write there"},
    {EACCES, "; let this user write in its folder, or use this port"},
    {EADDRINUSE, "; is this daemon running already?"},
    {EEXIST, ", which is no socket; remove it"}};

static int fail_to_listen(char *error, size_t size, const char *address,
                          int errnum)
{
    const char *hint = "";
    size_t i;

    for (i = 0; i < sizeof(listener_hints) / sizeof(listener_hints[0]); i++) {
        if (listener_hints[i].errnum == errnum) {
            hint = listener_hints[i].text;
        }
    }
    snprintf(error, size, "cannot listen on \"%s\": %s%s", address,
             strerror(errnum), hint);
    errno = errnum;
    return -1;
}

/* Returns whether a process has the socket, which may be of another type or not
 * for us: only a refusal tells that it is stale. */
static int listener_in_use(const struct sockaddr_un *un)
{
    int rc,
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd == -1) {
        return 1;
    }
    rc = connect(fd, (const struct sockaddr *)un, sizeof(*un));
    rc = rc == 0 || errno != ECONNREFUSED;
    close(fd);
    return rc;
}

static int listener_open_unix(struct listener *listener, const char *address,
                              mode_t mode, char *error, size_t size)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    const char *path = address + strlen("unix:");
    struct stat st;

    if (strlen(path) >= sizeof(un.sun_path)) {
        return fail_to_listen(error, size, address, ENAMETOOLONG);
    }
    memcpy(un.sun_path, path, strlen(path) + 1);

    listener->fd = service_take_socket((struct sockaddr *)&un);
    if (listener->fd != -1 && lstat(path, &st) == 0 &&
        (st.st_mode & ~mode & WRITERS) != 0) {
        snprintf(error, size,
                 "cannot listen on \"%s\": the service manager lets others "
                 "connect, too (SocketMode=%04o)",
                 address, (unsigned)mode);
        return -1;
    }
    if (listener->fd != -1) {
        return 0;
    }
    if (lstat(path, &st) == 0) {
        if (!S_ISSOCK(st.st_mode)) {
            return fail_to_listen(error, size, address, EEXIST);
        }
        if (listener_in_use(&un)) {
            return fail_to_listen(error, size, address, EADDRINUSE);
        }
        unlink(path);
    }

    listener->fd =
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd == -1 ||
        bind(listener->fd, (struct sockaddr *)&un, sizeof(un)) != 0 ||
        chmod(path, mode) != 0 || lstat(path, &st) != 0 ||
        listen(listener->fd, LISTENER_BACKLOG) != 0) {
        return fail_to_listen(error, size, address, errno);
    }

    listener->device = st.st_dev;
    listener->inode = st.st_ino;
    listener->path = strdup(path);
    return listener->path != NULL
               ? 0
               : fail_to_listen(error, size, address, ENOMEM);
}

static int listener_open_tcp(struct listener *listener, const char *address,
                             char *error, size_t size)
{
    struct sockaddr_storage ss;
    int on = 1, len = sizeof(ss);

    if (evutil_parse_sockaddr_port(address, (struct sockaddr *)&ss, &len) !=
        0) {
        return fail_to_listen(error, size, address, EINVAL);
    }

    listener->fd = service_take_socket((struct sockaddr *)&ss);
    if (listener->fd == -1) {
        listener->fd = socket(ss.ss_family,
                              SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (listener->fd == -1 ||
            setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on,
                       sizeof(on)) != 0 ||
            bind(listener->fd, (struct sockaddr *)&ss, (socklen_t)len) != 0 ||
            listen(listener->fd, LISTENER_BACKLOG) != 0) {
            return fail_to_listen(error, size, address, errno);
        }
    }
    /* connections inherit TCP_NODELAY: without it the end of an answer waits
     * for the client's delayed acknowledgement of the beginning, some 40 ms */
    if (setsockopt(listener->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) !=
        0) {
        return fail_to_listen(error, size, address, errno);
    }
    return 0;
}

static int listener_open_once(struct listener *listener, const char *address,
                              mode_t mode, char *error, size_t size)
{
    int rc;

    memset(listener, 0, sizeof(*listener));
    listener->fd = -1;
    rc = strncmp(address, "unix:", 5) == 0
             ? listener_open_unix(listener, address, mode, error, size)
             : listener_open_tcp(listener, address, error, size);
    if (rc != 0) {
        fd_close(listener->fd);
        listener->fd = -1;
    }
    return rc;
}

int listener_open(struct listener *listener, const char *address, mode_t mode,
                  char *error, size_t size)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int i;

    for (i = 1; listener_open_once(listener, address, mode, error, size) != 0;
         i++) {
        if (errno != EADDRINUSE || i == LISTENER_TRIES) {
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

void listener_unlink(struct listener *listener)
{
    struct stat st;

    if (listener->path != NULL && lstat(listener->path, &st) == 0 &&
        st.st_dev == listener->device && st.st_ino == listener->inode) {
        unlink(listener->path);
    }
    free(listener->path);
    listener->path = NULL;
}
