/*
 * Copyright (C) the ngx_symcache authors
 *
 * One question to symcached, about many keys: may there be a file of
 * each?  symcached tells of a key as soon as its job has ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "symcached_client.h"
#include "proto/header.h"
#include "proto/key.h"

/* So many keys fit into one question. */
#define BATCH_KEYS_MAX SYMCACHE_LOOKUPS_MAX

enum batch_answer {
    BATCH_FOUND,
    BATCH_ABSENT,
    BATCH_UNSUPPORTED, /* there is an original, of which another kind is made */
    BATCH_MALFORMED,   /* there is an original that cannot be converted */
    BATCH_PENDING,     /* not within the time */
    BATCH_FAILED,
    BATCH_NOBODY /* symcached cannot be reached */
};

#define BATCH_REASON_MAX 31

/* What is asked for; read by batch_start() only. */
struct batch_key {
    const char *store;
    const symcache_key_t *key;
    const char *name; /* as the client wrote it */
    size_t name_size;
    const char *hints; /* see proto/hints.h; or NULL */
};

struct batch_reply {
    size_t i; /* of the key, in the order of the question */
    enum batch_answer answer;
    unsigned valid; /* for so many seconds it stays the same; 0: not known */
    unsigned status; /* FAILED: what symcached said; 0: nothing */
    char reason[BATCH_REASON_MAX + 1]; /* the same, cut off */
};

struct batch_request;

/* Some keys are answered now.  With is_last, all are, and the question has
 * been freed. */
typedef void (*batch_fn)(void *arg, const struct batch_reply *replies, size_t n,
                         bool is_last);

/*
 * Asks for 1 to BATCH_KEYS_MAX keys. wait: how many seconds symcached may
 * take; 0 = it begins the work, and answers at once.  Each key is answered
 * exactly once, soon after this time at the latest, even if symcached does not
 * answer. fn is never called from inside this function.  NULL: there is no
 * memory or no descriptor.
 */
struct batch_request *
batch_start(struct event_base *base,
            const struct symcached_client_address *address,
            const struct batch_key *keys, size_t n, unsigned wait, batch_fn fn,
            void *arg);

/* fn is not called any more. */
void batch_cancel(struct batch_request *ask);
