/*
 * Copyright (C) the ngx_symcache authors
 *
 * A wait until other machines have heard messages, or are not waited for any
 * more.  peers_tell() makes it.
 */
#pragma once

#include <stddef.h>
#include <sys/queue.h>
#include "peers.h"

struct peer_notification {
    LIST_ENTRY(peer_notification) entry;
    struct peers *peers;
    struct event *ended; /* or it has lasted too long */
    size_t left;         /* messages that are waited for */
    char untold[PEERS_UNTOLD];
    peers_done_fn done; /* NULL: nobody waits */
    void *arg;
};

/* One message more is waited for; peer_notification_leave() when it has been
 * heard, or is given up. */
void peer_notification_join(struct peer_notification *notification);
void peer_notification_leave(struct peer_notification *notification);

/* This machine does not know yet. */
void peer_notification_note_untold(struct peer_notification *notification,
                                   const char *address);

/* done is not called any more; the machines are told all the same.  NULL is
 * allowed. */
void peer_notification_cancel(struct peer_notification *notification);

/* It is in a list, and no message has it. */
void peer_notification_free(struct peer_notification *notification);
