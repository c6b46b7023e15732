/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symcached_client.h"

#include <errno.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/fd_close.h"
#include "reachability.h"

#define RESPONSE_HEAD_MAX 16384

struct symcached_client {
    struct bufferevent *bev;
    struct event limit;
    int family; /* of symcached's address; AF_UNSPEC: a tenant's */
    char address[SYMCACHED_CLIENT_TEXT];
    int error;  /* of a connect() that failed at once */
    bool is_connected;
    bool has_head;
    exchange_fn fn;
    void *arg;
};

void symcached_client_address(struct symcached_client_address *address,
                              const char *text, const char *token)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&address->address;
    int size = sizeof(address->address);

    memset(address, 0, sizeof(*address));
    snprintf(address->text, sizeof(address->text), "%s", text);
    if (token != NULL) {
        snprintf(address->credentials, sizeof(address->credentials),
                 "Authorization: Bearer %s\r\n", token);
    }
    if (strncmp(text, "unix:", 5) == 0) {
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path, sizeof(un->sun_path), "%s", text + 5);
        address->size = sizeof(*un);
        return;
    }
    evutil_parse_sockaddr_port(text, (struct sockaddr *)&address->address,
                               &size);
    address->size = (socklen_t)size;
}

/* The last call of fn, which frees the client. */
static void client_end_exchange(struct symcached_client *client,
                                enum symcached_client_news news)
{
    bufferevent_disable(client->bev, EV_READ | EV_WRITE);
    evtimer_del(&client->limit);
    client->fn(client->arg, news,
               client->has_head ? bufferevent_get_input(client->bev) : NULL);
}

static void client_note_reach(const struct symcached_client *client, int error)
{
    if (client->family != AF_UNSPEC) {
        reachability_note(client->family, client->address, error);
    }
}

/* There is no connection.  A full queue does not mean that symcached is
 * down. */
static void client_fail_connect(struct symcached_client *client, int error)
{
    if (error == EAGAIN) {
        client_end_exchange(client, EXCHANGE_FAILED);
        return;
    }
    client_note_reach(client, error);
    client_end_exchange(client, EXCHANGE_NOBODY);
}

/* Is all of a body there, with this head before it?  Without a length, which
 * symcached writes so, it ends with the connection. */
static bool client_is_whole(struct evbuffer *in, size_t head)
{
    static const char name[] = "\r\nContent-Length: ";
    const char *text = (const char *)evbuffer_pullup(in, (ssize_t)head);
    const char *found =
        text != NULL ? memmem(text, head, name, strlen(name)) : NULL;

    return found != NULL && evbuffer_get_length(in) - head >=
                                strtoull(found + strlen(name), NULL, 10);
}

/* Takes the head of the answer out.  Returns 1, 2 if the whole answer is
 * there, 0 if the head has not come wholly yet, or -1 if this is no good
 * answer. */
static int client_read_head(struct evbuffer *in)
{
    struct evbuffer_ptr end_of_head = evbuffer_search(in, "\r\n\r\n", 4, NULL);
    char line[16] = "";
    int status = 0, rc;

    if (end_of_head.pos == -1) {
        return evbuffer_get_length(in) < RESPONSE_HEAD_MAX ? 0 : -1;
    }
    evbuffer_copyout(in, line, sizeof(line) - 1);
    if (sscanf(line, "HTTP/1.%*1[01] %3d", &status) != 1 || status != 200) {
        return -1;
    }
    rc = client_is_whole(in, (size_t)end_of_head.pos + 4) ? 2 : 1;
    evbuffer_drain(in, (size_t)end_of_head.pos + 4);
    return rc;
}

static void client_on_read(struct bufferevent *bev, void *arg)
{
    struct evbuffer *in = bufferevent_get_input(bev);
    struct symcached_client *client = arg;
    int rc = client->has_head ? 1 : client_read_head(in);

    client->has_head = rc > 0;
    if (rc == 1) {
        client->fn(client->arg, EXCHANGE_BODY, in);
    } else if (rc != 0) {
        client_end_exchange(client,
                            rc == 2 ? EXCHANGE_ENDED : EXCHANGE_FAILED);
    }
}

static void client_on_event(struct bufferevent *bev, short what, void *arg)
{
    struct symcached_client *client = arg;
    int error = client->error != 0 ? client->error : EVUTIL_SOCKET_ERROR();

    if ((what & BEV_EVENT_CONNECTED) != 0) {
        client->is_connected = true;
        client_note_reach(client, 0);
        return;
    }
    if ((what & BEV_EVENT_EOF) != 0 && client->has_head) {
        client_end_exchange(client, EXCHANGE_ENDED);
    } else if ((what & BEV_EVENT_ERROR) != 0 && !client->is_connected) {
        client_fail_connect(client, error);
    } else {
        client_end_exchange(client, EXCHANGE_FAILED);
    }
}

static void client_on_limit(evutil_socket_t fd, short what, void *arg)
{
    struct symcached_client *client = arg;

    if (client->is_connected) {
        client_end_exchange(client, EXCHANGE_FAILED);
    } else {
        client_fail_connect(client, ETIMEDOUT);
    }
}

/* Returns less than 0 without memory. */
static int client_print_request(struct evbuffer *out,
                                const struct symcached_client_address *address,
                                const char *line, struct evbuffer *body)
{
    int rc;

    rc = evbuffer_add_printf(out,
                             "%s HTTP/1.1\r\nHost: symcached\r\n"
                             "Connection: close\r\n%s",
                             line, address->credentials);
    if (rc >= 0 && body != NULL) {
        rc = evbuffer_add_printf(out, "Content-Length: %zu\r\n",
                                 evbuffer_get_length(body));
    }
    if (rc >= 0) {
        rc = evbuffer_add(out, "\r\n", 2);
    }
    return rc >= 0 && body != NULL ? evbuffer_add_buffer(out, body) : rc;
}

/*
 * A Unix socket is connected at once, or not at all, so the request is sent
 * at once.  Returns the socket, or -1 with client->error if that is not 0.
 */
static int client_connect_now(struct symcached_client *client,
                              const struct symcached_client_address *address,
                              struct evbuffer *out)
{
    int fd =
        address->address.ss_family == AF_UNIX
            ? socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
            : -1;

    if (fd == -1) {
        return -1;
    }
    if (connect(fd, (const struct sockaddr *)&address->address,
                address->size) != 0) {
        client->error = errno;
        close(fd);
        return -1;
    }
    client->is_connected = true;
    client_note_reach(client, 0);
    (void)evbuffer_write(out, fd); /* the rest waits until it is writable */
    return fd;
}

/* Returns 0, or -1 without memory or descriptors. */
static int
client_begin_exchange(struct symcached_client *client, struct event_base *base,
                      const struct symcached_client_address *address,
                      struct evbuffer *out)
{
    int fd = client_connect_now(client, address, out);

    client->bev = bufferevent_socket_new(
        base, fd, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (client->bev == NULL) {
        fd_close(fd);
        return -1;
    }
    bufferevent_setcb(client->bev, client_on_read, NULL, client_on_event,
                      client);
    if ((evbuffer_get_length(out) > 0 &&
         bufferevent_write_buffer(client->bev, out) != 0) ||
        bufferevent_enable(client->bev, EV_READ) != 0) { /* and writes */
        return -1;
    }
    if (fd == -1 && client->error == 0 &&
        bufferevent_socket_connect(client->bev,
                                   (const struct sockaddr *)&address->address,
                                   (int)address->size) != 0) {
        client->error = errno;
    }
    if (client->error != 0) {
        bufferevent_trigger_event(client->bev, BEV_EVENT_ERROR,
                                  BEV_OPT_DEFER_CALLBACKS);
    }
    return 0;
}

struct symcached_client *
symcached_client_start(struct event_base *base,
                       const struct symcached_client_address *address,
                       const char *line, struct evbuffer *body,
                       unsigned seconds, exchange_fn fn, void *arg)
{
    struct timeval limit = {.tv_sec = (time_t)seconds};
    struct symcached_client *client = calloc(1, sizeof(*client));
    struct evbuffer *out = evbuffer_new();
    bool has_begun = false;

    if (client != NULL) {
        client->family =
            address->is_tenant ? AF_UNSPEC : address->address.ss_family;
        memcpy(client->address, address->text, sizeof(client->address));
        client->fn = fn;
        client->arg = arg;
        evtimer_assign(&client->limit, base, client_on_limit, client);
        has_begun = out != NULL &&
                    client_print_request(out, address, line, body) >= 0 &&
                    evtimer_add(&client->limit, &limit) == 0 &&
                    client_begin_exchange(client, base, address, out) == 0;
    }
    if (!has_begun) {
        symcached_client_free(client);
        client = NULL;
    }
    if (out != NULL) {
        evbuffer_free(out);
    }
    return client;
}

void symcached_client_free(struct symcached_client *client)
{
    if (client == NULL) {
        return;
    }
    evtimer_del(&client->limit);
    if (client->bev != NULL) {
        bufferevent_free(client->bev);
    }
    free(client);
}

/* A callback that bufferevent_trigger_event() has put off holds a reference,
 * and event_base_free() forgets the callback. */
void symcached_client_end(struct event_base *base)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}
