/*
 * Copyright (C) the ngx_symcache authors
 *
 * One of the other machines of a fleet, and the messages that it is to hear.
 *
 * A message is the target of a request, POST /v1/changed/<name>/<id>/<file>,
 * see server/upload_page.h, with its query but for "from", which is another one
 * in the next process.  A machine gets one after the other.  One that it
 * refuses is put aside: the others need not wait for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/queue.h>
#include <time.h>
#include "symcached/intake/upload_report.h"

#define PEER_MESSAGE_MAX                                                      \
    (3 * (2 * SYMCACHE_NAME_MAX + SYMSTORE_ID_SIZE) +                         \
     UPLOAD_REPORT_IDS_SIZE + 100)

#define PEER_SECONDS 3 /* and then it is not waited for any more */

struct peer_notification;

/* Data shared by all peers. */
struct peer_owner {
    struct event_base *base;
    struct fetcher *fetcher;
    const char *self; /* "from" */
    bool (*is_wanted)(void *arg, const char *address); /* or it goes */
    void (*save)(void *arg); /* peer_print() would print something else now */
    void (*save_later)(void *arg); /* the same, which can wait */
    void *arg;
};

TAILQ_HEAD(messages, message);
LIST_HEAD(peer_list, peer);

struct peer {
    LIST_ENTRY(peer) entry;
    const struct peer_owner *owner;
    char *address;
    struct messages messages; /* the first one is being sent */
    struct messages aside;
    size_t n; /* in both */
    struct send *send;
    struct event *retry;
    struct event *retry_aside;
    bool fails; /* nobody waits for it */
};

/* Puts it into the list.  Returns NULL when out of memory. */
struct peer *peer_new(const struct peer_owner *owner, struct peer_list *list,
                      const char *address);

/* Ends the waits for its messages. */
void peer_free(struct peer *peer);

/* Adds a message; notification may be NULL.  Returns false when out of memory,
 * or if there are too many. */
bool peer_add(struct peer *peer, const char *text,
              struct peer_notification *notification);

/* Adds one that an earlier process could not send.  It was refused since then,
 * or 0. */
void peer_add_former(struct peer *peer, const char *text, time_t refused);

/* Sends the first message, if none is being sent. */
void peer_send(struct peer *peer);

/* Messages are not waited for any more, those of one notification or, with
 * NULL, of all.  It is noted there, and not ended. */
void peer_detach(struct peer *peer,
                 const struct peer_notification *notification);

/* Writes the messages that are not waited for, a line each:
 * "<address> <message>[ <refused since>]". */
void peer_print(FILE *f, const struct peer *peer);
