/*
 * Copyright (C) the ngx_symcache authors
 *
 * The hub: decides what a lookup is answered from what is on disk, what is
 * known to be absent and what can be made, and runs one job for each key of a
 * store however many ask.
 *
 * Knows nothing of HTTP.
 */
#ifndef SYMCACHED_JOBS_H
#define SYMCACHED_JOBS_H

#include <cjson/cJSON.h>
#include "config.h"
#include "source.h"
#include "tally.h"
#include "proto/symcache_answer.h"

enum jobs_answer_kind {
    JOBS_HIT,          /* version is on disk */
    JOBS_NOT_MODIFIED, /* nothing newer than the client has */
    JOBS_ABSENT,       /* known for certain; reason, seconds it is valid */
    JOBS_PENDING,      /* a job runs; ask again in seconds */
    JOBS_BUSY          /* cannot be told now; ask again in seconds */
};

struct jobs_answer {
    enum jobs_answer_kind kind;
    symcache_version_t version;
    const symcache_key_t *key; /* JOBS_HIT */
    bool stale;                /* JOBS_HIT, and a newer version can be made */
    const char *reason;        /* one word */
    const char *text;          /* a sentence, or NULL */
    unsigned seconds;
};

typedef void (*jobs_answer_fn)(void *arg, const struct jobs_answer *answer);

struct jobs;
struct waiter;

/* Takes a reference of config.  NULL when out of memory. */
struct jobs *jobs_new(struct event_base *base, struct sources *sources,
                      struct config *config);

/*
 * Makes the roots of config ready (folders, stale work, .transcoders) and
 * uses it from now on.  Returns 0, or -1 with a sentence in error; the
 * former configuration is then kept.  A full disk is no error: what could not
 * be written there is left to jobs_keep_stores().
 */
int jobs_configure(struct jobs *jobs, struct config *config, char *error,
                   size_t size);

/* There may be room now: writes what is missing in the roots. */
void jobs_keep_stores(struct jobs *jobs);

/*
 * Asks for a key.  via is a list as in via.h, "" for a client's own request;
 * one that has come through us is answered from disk only.  Either fn is
 * called at once and NULL is returned; or fn is called later, after at most
 * wait seconds, and the waiter is valid until then.
 */
struct waiter *jobs_ask(struct jobs *jobs, const struct store_config *store,
                        const symcache_key_t *key, const char *name,
                        const symcache_ask_t *ask, const char *via,
                        unsigned wait, jobs_answer_fn fn, void *arg);

/* The client went away: fn is not called any more; the job goes on. */
void jobs_leave(struct waiter *waiter);

/*
 * Ends all jobs: transcoders are killed, temporary files removed, waiters
 * answered.  Nothing new starts afterwards.
 */
void jobs_stop(struct jobs *jobs);

void jobs_free(struct jobs *jobs); /* after jobs_stop() */

/* For the pages of the socket. */
const struct config *jobs_config(const struct jobs *jobs);
cJSON *jobs_json(const struct jobs *jobs);
cJSON *jobs_sources(const struct jobs *jobs);
void jobs_print_sources(const struct jobs *jobs, struct evbuffer *buf);
cJSON *jobs_misses(const struct jobs *jobs);
cJSON *jobs_why(const struct jobs *jobs, const struct store_config *store,
                const symcache_key_t *key);
unsigned jobs_forget(struct jobs *jobs, const struct store_config *store,
                     const symcache_key_t *key, bool has_id);

struct jobs_gauges {
    unsigned queued;
    unsigned downloading;
    unsigned transcoding;
    unsigned waiters;
    unsigned failures; /* remembered in memory */
};

void jobs_gauges(const struct jobs *jobs, struct jobs_gauges *gauges);

#endif
