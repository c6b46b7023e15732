/*
 * Copyright (C) the ngx_symcache authors
 *
 * One question to symcached: may there be a SymCache of this key?  On a
 * connection of its own, which symcached holds until the job has ended.
 */
#ifndef SYMBOLICATED_ASK_H
#define SYMBOLICATED_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include "proto/key.h"

struct event_base;

enum ask_answer {
    ASK_FOUND,
    ASK_ABSENT,
    ASK_MALFORMED, /* there is an original that cannot be converted */
    ASK_PENDING,   /* not within the time */
    ASK_FAILED,
    ASK_NOBODY /* no symcached listens there */
};

/* Where symcached listens. */
struct ask_address {
    struct sockaddr_storage address;
    socklen_t size;
};

/* text: "unix:/path" or "address:port", checked by the configuration. */
void ask_address(struct ask_address *address, const char *text);

struct ask;

/* valid: for so many seconds the answer will be the same; 0 = not known */
typedef void (*ask_fn)(void *arg, enum ask_answer answer, unsigned valid);

/*
 * Asks for a key of a store, by the name as the client wrote it.  wait: how
 * many seconds symcached may take; 0 = it begins the work, and answers at
 * once.  fn is called once, not from inside this function.  NULL: there is no
 * memory or no descriptor.
 */
struct ask *ask_start(struct event_base *base,
                      const struct ask_address *address, const char *store,
                      const symcache_key_t *key, const char *name,
                      size_t name_size, unsigned wait, ask_fn fn, void *arg);

/* fn is not called any more. */
void ask_cancel(struct ask *ask);

#endif
