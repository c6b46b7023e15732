/*
 * Copyright (C) the ngx_symcache authors
 *
 * A wait until other machines have heard messages, or are not waited for any
 * more.  peers_tell() makes it.
 */
#ifndef SYMCACHED_UPLOAD_TELLING_H
#define SYMCACHED_UPLOAD_TELLING_H

#include <stddef.h>
#include <sys/queue.h>
#include "peers.h"

struct event;

struct telling {
    LIST_ENTRY(telling) entry;
    struct peers *peers;
    struct event *ended; /* or it has lasted too long */
    size_t left; /* messages that are waited for */
    char untold[PEERS_UNTOLD];
    peers_done_fn done; /* NULL: nobody waits */
    void *arg;
};

/* One message more is waited for; telling_leave() when it has been heard, or is
 * given up. */
void telling_join(struct telling *telling);
void telling_leave(struct telling *telling);

/* This machine does not know yet. */
void telling_note_untold(struct telling *telling, const char *address);

/* done is not called any more; the machines are told all the same. */
void telling_cancel(struct telling *telling);

/* It is in a list, and no message has it. */
void telling_free(struct telling *telling);

#endif
