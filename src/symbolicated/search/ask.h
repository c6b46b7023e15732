/*
 * Copyright (C) the ngx_symcache authors
 *
 * One question to symcached, about many keys: may there be a file of
 * each?  symcached tells of a key as soon as its job has ended.
 */
#ifndef SYMBOLICATED_SEARCH_ASK_H
#define SYMBOLICATED_SEARCH_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include "exchange.h"
#include "proto/header.h"
#include "proto/key.h"

/* So many keys fit into one question. */
#define ASK_KEYS_MAX SYMCACHE_LOOKUPS_MAX

enum ask_answer {
    ASK_FOUND,
    ASK_ABSENT,
    ASK_UNSUPPORTED, /* there is an original, of which another kind is made */
    ASK_MALFORMED, /* there is an original that cannot be converted */
    ASK_PENDING,   /* not within the time */
    ASK_FAILED,
    ASK_NOBODY /* symcached cannot be reached */
};

/* What is asked for; read by ask_start() only. */
struct ask_key {
    const char *store;
    const symcache_key_t *key;
    const char *name; /* as the client wrote it */
    size_t name_size;
    const char *hints; /* see proto/hints.h; or NULL */
};

struct ask_reply {
    size_t i; /* of the key, in the order of the question */
    enum ask_answer answer;
    unsigned valid; /* for so many seconds it stays the same; 0: not known */
};

struct ask;

/* Some keys are answered now.  With is_last, all are, and the question has
 * been freed. */
typedef void (*ask_fn)(void *arg, const struct ask_reply *replies, size_t n,
                       bool is_last);

/*
 * Asks for 1 to ASK_KEYS_MAX keys.  wait: how many seconds symcached may take;
 * 0 = it begins the work, and answers at once.  Whatever symcached does, each
 * key is answered once, soon after this time at the latest; fn is not called
 * from inside this function.  NULL: there is no memory or no descriptor.
 */
struct ask *ask_start(struct event_base *base,
                      const struct exchange_address *address,
                      const struct ask_key *keys, size_t n, unsigned wait,
                      ask_fn fn, void *arg);

/* fn is not called any more. */
void ask_cancel(struct ask *ask);

#endif
