/*
 * Copyright (C) the ngx_symcache authors
 */
#include "peer.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "config/config.h"
#include "symcached/fetch/fetch.h"
#include "peer_notification.h"

#define CONNECT_SECONDS 1
#define RETRY_SECONDS 5
#define REFUSED_SECONDS 3600 /* then a message that is refused is dropped */
#define FORMER_SECONDS 1800  /* of these at most before this process */
#define MESSAGES_MAX 10000 /* for one machine; more are dropped */

struct message {
    TAILQ_ENTRY(message) entry;
    struct peer_notification
        *notification; /* NULL: nobody waits, and a restart must know */
    bool is_refused;
    unsigned refused_before; /* seconds, by earlier processes */
    uint64_t refused_ms;     /* clock_ms() of the first refusal by this one */
    char text[];
};

static void peer_drop_first(struct peer *peer, struct messages *list)
{
    struct message *message = TAILQ_FIRST(list);

    if (message->notification != NULL) {
        peer_notification_leave(message->notification);
    }
    TAILQ_REMOVE(list, message, entry);
    peer->n--;
    free(message);
}

/* Nobody waits for it any more. */
static void peer_give_up(const struct peer *peer, struct message *message)
{
    if (message->notification != NULL) {
        peer_notification_note_untold(message->notification, peer->address);
        peer_notification_leave(message->notification);
        message->notification = NULL;
    }
}

bool peer_add(struct peer *peer, const char *text,
              struct peer_notification *notification)
{
    size_t size = strlen(text) + 1;
    struct message *message;

    /* an archive has more files, but of a machine that hears them there are
     * never so many at a time */
    if (peer->n >= MESSAGES_MAX &&
        (peer->fails || !TAILQ_EMPTY(&peer->aside))) {
        log_error(0, "uploads: %s is never told of %s", peer->address, text);
        return false;
    }
    message = malloc(sizeof(*message) + size);
    if (message == NULL) {
        return false;
    }
    memcpy(message->text, text, size);
    message->notification = NULL;
    message->is_refused = false;
    message->refused_before = 0;
    message->refused_ms = 0;
    if (notification != NULL && peer->fails) {
        peer_notification_note_untold(notification, peer->address);
    } else if (notification != NULL) {
        message->notification = notification;
        peer_notification_join(notification);
    }
    TAILQ_INSERT_TAIL(&peer->messages, message, entry);
    peer->n++;
    if (message->notification == NULL) {
        peer->owner->save(peer->owner->arg);
    }
    return true;
}

static void peer_fail_message(struct peer *peer, const char *why)
{
    static const struct timeval pause = {.tv_sec = RETRY_SECONDS};
    struct message *message;

    if (!peer->fails) {
        log_warn(0, "uploads: %s is not told of %zu file%s: %s; it is tried "
                 "again", peer->address, peer->n, peer->n == 1 ? "" : "s", why);
    }
    peer->fails = true;
    TAILQ_FOREACH(message, &peer->messages, entry)
    {
        peer_give_up(peer, message);
    }
    event_add(peer->retry, &pause);
    peer->owner->save(peer->owner->arg);
}

/* Does the answer say that this message is at fault, and not the machine? */
static bool peer_is_refusal(long status)
{
    return status >= 400 && status < 500 && status != 408 && status != 429;
}

/* Seconds.  The time of day can be set, by years if a machine starts without
 * it, and would end the hour of all messages. */
static unsigned peer_refused_for(const struct message *message)
{
    unsigned here = message->refused_ms != 0
                        ? clock_since(message->refused_ms) / 1000
                        : 0;

    return message->refused_before + here;
}

static void peer_put_aside(struct peer *peer, const char *why)
{
    static const struct timeval pause = {.tv_sec = RETRY_SECONDS};
    struct message *message = TAILQ_FIRST(&peer->messages);

    peer_give_up(peer, message);
    if (message->refused_ms == 0) {
        message->refused_ms = clock_ms();
    }
    if (!message->is_refused) {
        message->is_refused = true;
        if (TAILQ_EMPTY(&peer->aside)) {
            log_warn(0, "uploads: %s refuses to be told of %s: %s; it is "
                     "tried again", peer->address, message->text, why);
        }
    }
    TAILQ_REMOVE(&peer->messages, message, entry);
    TAILQ_INSERT_TAIL(&peer->aside, message, entry);
    if (peer_refused_for(message) >= REFUSED_SECONDS) {
        log_error(0, "uploads: %s is never told of %s: %s", peer->address,
                  message->text, why);
        TAILQ_REMOVE(&peer->aside, message, entry);
        peer->n--;
        free(message);
    }
    if (!TAILQ_EMPTY(&peer->aside)) {
        event_add(peer->retry_aside, &pause);
    }
    peer->owner->save_later(peer->owner->arg);
}

/* One of them shows whether the others may be taken now. */
static void peer_take_back(struct peer *peer)
{
    struct message *message = TAILQ_FIRST(&peer->aside);

    if (message != NULL) {
        TAILQ_REMOVE(&peer->aside, message, entry);
        TAILQ_INSERT_TAIL(&peer->messages, message, entry);
    }
}

static void peer_on_sent(void *arg, const struct send_result *result)
{
    struct peer *peer = arg;
    struct message *message = TAILQ_FIRST(&peer->messages);
    long status = result->response->status;
    bool was_refused = message->is_refused;

    peer->send = NULL;
    if (peer_is_refusal(status)) {
        peer_put_aside(peer, result->detail);
    } else if (status != 200) {
        peer_fail_message(peer, result->detail);
        return;
    } else {
        if (message->notification == NULL) {
            peer->owner->save_later(peer->owner->arg);
        }
        if (message->is_refused) {
            peer_take_back(peer);
        }
        peer_drop_first(peer, &peer->messages);
    }
    if (status == 200 && TAILQ_EMPTY(&peer->messages) &&
        TAILQ_EMPTY(&peer->aside) && (peer->fails || was_refused)) {
        log_info(0, "uploads: %s has been told", peer->address);
    }
    peer->fails = peer->fails && !TAILQ_EMPTY(&peer->messages);
    peer_send(peer);
}

void peer_send(struct peer *peer)
{
    static const struct transport_config transport = {
        .internal = TRANSPORT_INTERNAL_ORIGIN};
    static char name[] = "Content-Length", value[] = "0";
    const struct header_config length = {name, value};
    bool is_unix = strncmp(peer->address, "unix:", 5) == 0;
    struct send_request request = {.method = "POST",
                                   .transport = &transport,
                                   .extra = &length,
                                   .nextra = 1,
                                   .fd = -1,
                                   .connect = CONNECT_SECONDS,
                                   .seconds = PEER_SECONDS};
    char url[PEER_MESSAGE_MAX + 200];
    const struct message *message = TAILQ_FIRST(&peer->messages);

    if (peer->send != NULL || message == NULL) {
        return;
    }
    snprintf(url, sizeof(url), "http://%.150s%s%cfrom=%s%s",
             is_unix ? "localhost" : peer->address, message->text,
             strchr(message->text, '?') != NULL ? '&' : '?', peer->owner->self,
             message->notification == NULL ? "&late=1" : "");
    request.url = url;
    request.socket = is_unix ? peer->address + 5 : NULL;
    peer->send =
        send_start(peer->owner->fetcher, &request, peer_on_sent, peer);
    if (peer->send == NULL) {
        peer_fail_message(peer, strerror(ENOMEM));
    }
}

void peer_free(struct peer *peer)
{
    if (peer->send != NULL) {
        send_cancel(peer->send);
    }
    while (!TAILQ_EMPTY(&peer->messages)) {
        peer_drop_first(peer, &peer->messages);
    }
    while (!TAILQ_EMPTY(&peer->aside)) {
        peer_drop_first(peer, &peer->aside);
    }
    event_drop(peer->retry);
    event_drop(peer->retry_aside);
    LIST_REMOVE(peer, entry);
    free(peer->address);
    free(peer);
}

static void peer_on_retry(evutil_socket_t fd, short events, void *arg)
{
    struct peer *peer = arg;

    if (peer->owner->is_wanted(peer->owner->arg, peer->address)) {
        peer_send(peer);
        return;
    }
    peer->owner->save(peer->owner->arg);
    peer_free(peer);
}

static void peer_on_retry_aside(evutil_socket_t fd, short events, void *arg)
{
    struct peer *peer = arg;

    peer_take_back(peer);
    if (!peer->fails) {
        peer_on_retry(fd, events, peer);
    }
}

struct peer *peer_new(const struct peer_owner *owner, struct peer_list *list,
                      const char *address)
{
    struct peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL) {
        return NULL;
    }
    peer->owner = owner;
    TAILQ_INIT(&peer->messages);
    TAILQ_INIT(&peer->aside);
    LIST_INSERT_HEAD(list, peer, entry);
    peer->address = strdup(address);
    peer->retry = evtimer_new(owner->base, peer_on_retry, peer);
    peer->retry_aside = evtimer_new(owner->base, peer_on_retry_aside, peer);
    if (peer->address == NULL || peer->retry == NULL ||
        peer->retry_aside == NULL) {
        peer_free(peer);
        return NULL;
    }
    return peer;
}

void peer_add_former(struct peer *peer, const char *text, time_t refused)
{
    struct message *message;
    time_t now = time(NULL);

    if (peer_add(peer, text, NULL)) {
        message = TAILQ_LAST(&peer->messages, messages);
        message->is_refused = refused != 0;
        if (refused != 0 && refused < now) {
            message->refused_before = now - refused < FORMER_SECONDS
                                          ? (unsigned)(now - refused)
                                          : FORMER_SECONDS;
        }
        peer->fails = true;
        event_active(peer->retry, 0, 0);
    }
}

void peer_detach(struct peer *peer,
                 const struct peer_notification *notification)
{
    struct message *message;

    TAILQ_FOREACH(message, &peer->messages, entry)
    {
        if (message->notification != NULL &&
            (notification == NULL || message->notification == notification)) {
            peer_notification_note_untold(message->notification,
                                          peer->address);
            message->notification = NULL;
        }
    }
}

static void peer_print_messages(FILE *f, const struct peer *peer,
                                const struct messages *messages)
{
    const struct message *message;
    time_t now = time(NULL);

    TAILQ_FOREACH(message, messages, entry)
    {
        if (message->notification == NULL) {
            fprintf(f, message->is_refused ? "%s %s %lld\n" : "%s %s\n",
                    peer->address, message->text,
                    (long long)now - peer_refused_for(message));
        }
    }
}

void peer_print(FILE *f, const struct peer *peer)
{
    peer_print_messages(f, peer, &peer->messages);
    peer_print_messages(f, peer, &peer->aside);
}
