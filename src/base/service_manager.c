/*
 * Copyright (C) the ngx_symcache authors
 */
#include "service_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/util.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

#define SERVICE_FIRST_SOCKET 3 /* SD_LISTEN_FDS_START */
#define SERVICE_SOCKETS_MAX 16
#define WATCHDOG_MAX_MS 3600000

/* How long a manager that takes no message may delay us. */
#define PATIENCE_MS 1000

static struct {
    int notify; /* a datagram socket, or -1: there is no manager to notify */
    struct sockaddr_un to;
    socklen_t len;
    unsigned watchdog_ms; /* 0: it is not waited for signs of life */
    int sockets[SERVICE_SOCKETS_MAX];
    unsigned n;
    struct event *event;
    bool (*alive)(void *arg, unsigned ms);
    void *arg;
} service = {.notify = -1};

/* The number in a variable, or 0. */
static uint64_t read_service_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    uint64_t n = text != NULL ? strtoumax(text, &end, 10) : 0;

    return end != NULL && *end == '\0' ? n : 0;
}

/* Variables are for one process: what it starts must not take them for its
 * own. */
static bool service_is_for_us(const char *name)
{
    return read_service_number(name) == (uint64_t)getpid();
}

static void open_service_notify(const char *path)
{
    struct timeval limit = {.tv_usec = PATIENCE_MS * 1000 % 1000000,
                            .tv_sec = PATIENCE_MS / 1000};
    size_t len = strlen(path);

    if ((path[0] != '/' && path[0] != '@') ||
        len >= sizeof(service.to.sun_path)) {
        return;
    }
    service.to.sun_family = AF_UNIX;
    memcpy(service.to.sun_path, path, len);
    if (path[0] == '@') {
        service.to.sun_path[0] = '\0'; /* no file, but an abstract name */
    }
    service.len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    service.notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (service.notify != -1) {
        setsockopt(service.notify, SOL_SOCKET, SO_SNDTIMEO, &limit,
                   sizeof(limit));
    }
}

/* Other descriptors may be passed, too; they are left alone. */
static void adopt_service_socket(int fd)
{
    int listens = 0;
    socklen_t len = sizeof(listens);

    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 &&
        listens && evutil_make_socket_nonblocking(fd) == 0) {
        service.sockets[service.n++] = fd;
    }
}

void service_start(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    uint64_t i, n;

    if (path != NULL) {
        open_service_notify(path);
    }
    n = read_service_number("WATCHDOG_USEC") / 1000;
    if (getenv("WATCHDOG_PID") == NULL || service_is_for_us("WATCHDOG_PID")) {
        service.watchdog_ms =
            (unsigned)(n < WATCHDOG_MAX_MS ? n : WATCHDOG_MAX_MS);
    }
    n = service_is_for_us("LISTEN_PID") ? read_service_number("LISTEN_FDS")
                                        : 0;
    for (i = 0; i < n && i < SERVICE_SOCKETS_MAX; i++) {
        adopt_service_socket(SERVICE_FIRST_SOCKET + (int)i);
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

/* sockets ----------------------------------------------------------------- */

static bool service_is_same(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family) {
        return false;
    }
    return a->sa_family == AF_UNIX
               ? strncmp(((const struct sockaddr_un *)a)->sun_path,
                         ((const struct sockaddr_un *)b)->sun_path,
                         sizeof(((const struct sockaddr_un *)a)->sun_path)) == 0
               : evutil_sockaddr_cmp(a, b, 1) == 0;
}

int service_take_socket(const struct sockaddr *address)
{
    struct sockaddr_storage own;
    socklen_t len;
    unsigned i;
    int fd;

    for (i = 0; i < service.n; i++) {
        memset(&own, 0, sizeof(own)); /* a path may come without its end */
        len = sizeof(own);
        fd = service.sockets[i];
        if (getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
            service_is_same((struct sockaddr *)&own, address)) {
            service.sockets[i] = service.sockets[--service.n];
            return fd;
        }
    }
    return -1;
}

void service_close_rest(void)
{
    while (service.n > 0) {
        log_warn(0, "a socket of the service manager is not used: none of the "
                    "addresses to listen on is its own");
        close(service.sockets[--service.n]);
    }
}

/* messages ---------------------------------------------------------------- */

/*
 * Errors are ignored: what the manager then does is up to it.  Only a signal
 * must not lose a message, which SA_RESTART does not prevent for a socket with
 * a time limit: without READY=1 the manager would end the daemon.
 */
static void tell_service_state(const char *state)
{
    ssize_t n;

    if (service.notify == -1) {
        return;
    }
    do {
        n = sendto(service.notify, state, strlen(state), MSG_NOSIGNAL,
                   (const struct sockaddr *)&service.to, service.len);
    } while (n == -1 && errno == EINTR);
}

void service_ready(void)
{
    tell_service_state("READY=1");
}

void service_reloading(void)
{
    struct timespec now;
    char state[64];

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(state, sizeof(state),
             "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
             (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    tell_service_state(state);
}

void service_stopping(void)
{
    tell_service_state("STOPPING=1");
}

void service_config_stale(const char *why)
{
    char state[1024];

    snprintf(state, sizeof(state), "STATUS=%s%s",
             why[0] != '\0' ? "the configuration in use is not the file's: "
                            : "",
             why);
    tell_service_state(state);
}

static void on_service_time(evutil_socket_t fd, short what, void *arg)
{
    if (service.alive == NULL ||
        service.alive(service.arg, service.watchdog_ms)) {
        tell_service_state("WATCHDOG=1");
    }
}

int service_watch(struct event_base *base,
                  bool (*alive)(void *arg, unsigned ms), void *arg)
{
    unsigned ms = service.watchdog_ms / 2;
    struct timeval often = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    if (service.notify == -1 || ms == 0) {
        return 0;
    }
    service.alive = alive;
    service.arg = arg;
    service.event = event_new(base, -1, EV_PERSIST, on_service_time, NULL);
    return service.event != NULL && event_add(service.event, &often) == 0 ? 0
                                                                          : -1;
}

void service_end(void)
{
    if (service.event != NULL) {
        event_free(service.event);
        service.event = NULL;
    }
}
